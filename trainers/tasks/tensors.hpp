#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files/safetensors.hpp"
#include "optim/model.hpp"

namespace hpcbench::train {

/// A copy of a stored tensor in its own type, on the CPU.
at::Tensor to_tensor(const StoredTensor& stored);

/// Writes tensors (contiguous or not, of any stored type) as one safetensors file, whole or not at all.
void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace hpcbench::train
