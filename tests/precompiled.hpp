#pragma once

// Stable headers that most of the runner's tests include, precompiled. Each file still includes the headers that it uses: the
// preset `plain` builds without this one.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
