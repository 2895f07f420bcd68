#pragma once

// What most tests of the runner include and nobody changes, read once for all of them. Each file includes what it uses itself
// all the same: the preset `plain` builds without this one.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
