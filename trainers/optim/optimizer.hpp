#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/settings.hpp"

namespace hpcbench::train {

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adadelta;
  double momentum = 0;
  double weight_decay = 0;
};

/// SGD, Adadelta (rho 0.9, eps 1e-6) or AdamW (0.9, 0.999, 1e-8), as torch.optim defines them, one pass over each parameter.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters);
  /// Updates every parameter from its gradient; a parameter without one stays.
  void step(double lr);
  /// Drops the gradients, so that the next backward pass hands over its own instead of adding to these.
  void clear_gradients();

 private:
  struct State {
    at::Tensor parameter;
    at::Tensor first;   // velocity (SGD), mean square gradient (Adadelta), mean gradient (AdamW)
    at::Tensor second;  // none, mean square update, mean square gradient
  };
  OptimizerOptions options_;
  std::vector<State> states_;
  std::int64_t steps_ = 0;
};

}  // namespace hpcbench::train
