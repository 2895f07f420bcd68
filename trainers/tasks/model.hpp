#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace hpcbench::train {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// What a strategy sees of a model. Parameters are contiguous leaves that require gradients; buffers are state without
/// gradients that training changes (running statistics). Strategies may replace the data of a tensor, never the tensor.
struct Model {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
};

}  // namespace hpcbench::train
