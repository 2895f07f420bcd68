#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// A parameter with what its update reads and writes; all of one size, type and device.
struct TorchUpdatePart {
  at::Tensor parameter;
  at::Tensor gradient;
  at::Tensor first;   // the optimiser's state, as Optimizer::state() names it
  at::Tensor second;  // undefined for SGD
  double weight_decay = 0;
};

struct TorchUpdate {
  OptimizerKind kind = OptimizerKind::sgd;
  double lr = 0;
  double momentum = 0;  // of SGD
  double scale = 1;     // of the gradients, before anything else
  std::int64_t step = 1;
};

/// The update of kernels.hpp by LibTorch's operators over lists of tensors, on any device: the same formulas, whose roundings
/// differ. The gradients are changed. The host does not wait.
void update_by_torch(const std::vector<TorchUpdatePart>& parts, const TorchUpdate& update);

/// The norm of all gradients together. The host waits for it.
double gradient_norm_by_torch(const std::vector<at::Tensor>& gradients);

}  // namespace hpcbench::train
