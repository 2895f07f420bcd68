#pragma once

// What most tests of the trainer include and nobody changes: LibTorch takes 15 s to read. Each file includes what it uses
// itself all the same: the preset `plain` builds without this one.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>
