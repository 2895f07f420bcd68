#include "optim/optimizer.hpp"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/kernels.hpp"

namespace hpcbench::train {

Optimizer::Optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters) : options_(options) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters) {
    const bool two = options.kind != OptimizerKind::sgd;
    states_.push_back({parameter, at::zeros_like(parameter), two ? at::zeros_like(parameter) : at::Tensor()});
  }
}

void Optimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (State& state : states_) {
    if (!state.parameter.grad().defined()) continue;
    const at::Tensor gradient = state.parameter.grad().contiguous();
    const std::int64_t count = gradient.numel();
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "optimizer_step", [&] {
      scalar_t* const p = state.parameter.data_ptr<scalar_t>();
      const scalar_t* const g = gradient.data_ptr<scalar_t>();
      scalar_t* const first = state.first.data_ptr<scalar_t>();
      switch (options_.kind) {
        case OptimizerKind::sgd:
          return kernels::sgd(p, g, first, count, {lr, options_.momentum, options_.weight_decay});
        case OptimizerKind::adadelta:
          return kernels::adadelta(p, g, first, state.second.data_ptr<scalar_t>(), count,
                                   {lr, 0.9, 1e-6, options_.weight_decay});
        case OptimizerKind::adamw:
          return kernels::adamw(p, g, first, state.second.data_ptr<scalar_t>(), count,
                                {lr, 0.9, 0.999, 1e-8, options_.weight_decay, steps_});
      }
    });
  }
}

void Optimizer::clear_gradients() {
  for (State& state : states_) state.parameter.mutable_grad().reset();
}

}  // namespace hpcbench::train
