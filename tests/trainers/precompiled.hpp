#pragma once

// Stable headers that most of the trainer's tests include, precompiled: LibTorch takes 15 s to read. Each file still includes
// the headers that it uses: the preset `plain` builds without this one.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>
