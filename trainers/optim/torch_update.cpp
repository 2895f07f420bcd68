#include "optim/torch_update.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <optional>

#include "kernels/kernels.hpp"

namespace hpcbench::train {

namespace {

/// The parts with one weight decay, as lists.
struct TorchUpdateLists {
  std::vector<at::Tensor> parameters, gradients, first, second;
};

void decay_gradients(TorchUpdateLists& lists, double weight_decay) {
  if (weight_decay != 0) at::_foreach_add_(lists.gradients, lists.parameters, weight_decay);
}

void torch_sgd(TorchUpdateLists& lists, double weight_decay, const TorchUpdate& update) {
  decay_gradients(lists, weight_decay);
  at::_foreach_mul_(lists.first, update.momentum);
  at::_foreach_add_(lists.first, lists.gradients);
  at::_foreach_add_(lists.parameters, lists.first, -update.lr);
}

void torch_adadelta(TorchUpdateLists& lists, double weight_decay, const TorchUpdate& update) {
  const kernels::AdadeltaConstants constants{update.lr, weight_decay};
  decay_gradients(lists, constants.weight_decay);
  at::_foreach_mul_(lists.first, constants.rho);
  at::_foreach_addcmul_(lists.first, lists.gradients, lists.gradients, 1 - constants.rho);
  std::vector<at::Tensor> deltas = at::_foreach_add(lists.second, constants.eps);
  at::_foreach_sqrt_(deltas);
  std::vector<at::Tensor> divisors = at::_foreach_add(lists.first, constants.eps);
  at::_foreach_sqrt_(divisors);
  at::_foreach_div_(deltas, divisors);
  at::_foreach_mul_(deltas, lists.gradients);
  at::_foreach_mul_(lists.second, constants.rho);
  at::_foreach_addcmul_(lists.second, deltas, deltas, 1 - constants.rho);
  at::_foreach_add_(lists.parameters, deltas, -constants.lr);
}

/// Returns whether AdamW's operator itself divides the gradients, in fp32.
bool adamw_divides(const TorchUpdateLists& lists, const TorchUpdate& update) {
  return update.kind == OptimizerKind::adamw && lists.gradients.front().scalar_type() == at::kFloat;
}

void torch_adamw(TorchUpdateLists& lists, double weight_decay, const TorchUpdate& update) {
  const kernels::AdamWConstants constants{update.lr, weight_decay, update.step};
  const at::Tensor step = at::full({}, static_cast<double>(constants.step),
                                   lists.parameters.front().options().dtype(at::kFloat).requires_grad(false));
  const std::vector<at::Tensor> steps(lists.parameters.size(), step);
  const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? std::optional(tensor) : std::nullopt; };
  at::_fused_adamw_(lists.parameters, lists.gradients, lists.first, lists.second, {}, steps, constants.lr, constants.beta1,
                    constants.beta2, constants.weight_decay, constants.eps, /*amsgrad=*/false, /*maximize=*/false,
                    given(adamw_divides(lists, update) ? update.divisor : at::Tensor()), given(update.skip));
}

}  // namespace

void update_by_torch(const std::vector<UpdatePart>& parts, const TorchUpdate& update) {
  const at::NoGradGuard no_grad;
  std::map<double, TorchUpdateLists> by_decay;
  for (const UpdatePart& part : parts) {
    const at::Tensor& gradient = part.parameter.grad();
    if (!gradient.defined()) continue;
    TorchUpdateLists& lists = by_decay[part.weight_decay];
    lists.parameters.push_back(part.parameter);
    lists.gradients.push_back(gradient);
    lists.first.push_back(part.first);
    if (part.second.defined()) lists.second.push_back(part.second);
  }
  for (auto& [weight_decay, lists] : by_decay) {
    if (update.scale != 1) at::_foreach_mul_(lists.gradients, update.scale);
    if (update.divisor.defined() && !adamw_divides(lists, update)) at::_foreach_div_(lists.gradients, update.divisor);
    switch (update.kind) {
      case OptimizerKind::sgd:
        torch_sgd(lists, weight_decay, update);
        break;
      case OptimizerKind::adadelta:
        torch_adadelta(lists, weight_decay, update);
        break;
      case OptimizerKind::adamw:
        torch_adamw(lists, weight_decay, update);
        break;
    }
  }
}

at::Tensor gradient_norm_by_torch(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients)).to(at::kDouble).norm();
}

at::Tensor clip_divisor_by_torch(const at::Tensor& norm, double clip, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  return ((norm + 1e-6) / clip).clamp_min(1).to(type);
}

void SpoiltMark::note(const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  if (!sum_.defined()) sum_ = at::zeros({}, loss.options().dtype(at::kFloat).requires_grad(false));
  // Zero times a number that is not finite is not a number, and neither is any later sum with it.
  sum_.add_(loss, 0);
}

at::Tensor SpoiltMark::read() const {
  if (!sum_.defined()) return {};
  at::Tensor mark = at::empty_like(sum_);
  at::ne_out(mark, sum_, sum_);
  return mark;
}

}  // namespace hpcbench::train
