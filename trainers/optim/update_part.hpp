#pragma once

#include <ATen/core/Tensor.h>

namespace hpcbench::train {

/// A parameter with the tensors that its update reads and writes, for all kernels; all of one size, type and device. The
/// gradient is the parameter's own, so that a list of parts serves many steps and keeps no dropped gradient alive.
struct UpdatePart {
  at::Tensor parameter;
  at::Tensor first;   // the optimiser's state, named as in Optimizer::state()
  at::Tensor second;  // undefined for SGD
  double weight_decay = 0;
};

}  // namespace hpcbench::train
