#pragma once

#include <ATen/core/Tensor.h>

namespace hpcbench::train {

/// A parameter with what its update reads and writes, whichever kernels make it; all of one size, type and device. The gradient
/// is the parameter's own, so that a list of parts serves many steps, and keeps none alive that has been dropped.
struct UpdatePart {
  at::Tensor parameter;
  at::Tensor first;   // the optimiser's state, as Optimizer::state() names it
  at::Tensor second;  // undefined for SGD
  double weight_decay = 0;
};

}  // namespace hpcbench::train
