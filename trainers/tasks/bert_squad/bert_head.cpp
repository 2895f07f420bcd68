#include <ATen/Dispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cmath>

#include "tasks/bert_squad/bert_ends.hpp"

namespace hpcbench::train {

namespace {

struct BertHeadState : torch::CustomClassHolder {
  std::shared_ptr<BertStep> step;
  at::Tensor x;  // [tokens, H]
};

/// Two columns gain nothing from bf16: the head is computed in the parameters' type.
class BertHeadFunction : public torch::autograd::Function<BertHeadFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::shared_ptr<BertStep>& step) {
    auto state = c10::make_intrusive<BertHeadState>();
    state->step = step;
    state->x = x.narrow(0, 0, step->rows.tokens);
    context->saved_data["state"] = at::IValue::make_capsule(state);
    return at::addmm(bias, state->x, weight.t());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list derivatives) {
    const auto capsule = context->saved_data["state"].toCapsule();
    auto& state = static_cast<BertHeadState&>(*capsule);
    const BertStep& step = *state.step;
    const at::Tensor dlogits = derivatives[0].contiguous();
    const at::Tensor weight = step.weights->head.weight.detach();
    const at::Tensor dx = step.take({step.padded_rows, step.config.hidden_size}, step.options.type);
    at::Tensor real = dx.narrow(0, 0, step.rows.tokens);
    at::mm_out(real, dlogits, weight);
    bert_zero_rows(dx, step.rows.tokens);
    const at::Tensor dweight = at::mm(dlogits.t(), state.x);
    state.x = at::Tensor();
    return {dx, dweight, dlogits.sum(0), at::Tensor()};
  }
};

/// Start (column 0) and end (1) of the targets of each row.
struct BertTargets {
  std::vector<std::int64_t> begin;
  std::array<std::vector<BertTarget>, 2> targets;
};

/// Returns the log of the sum of e^x over n numbers at a distance of 2, in fp64.
template <class T>
double log_sum_exp(const T* x, std::int64_t n) {
  double largest = -HUGE_VAL;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(x[2 * i]));
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[2 * i]) - largest);
  return largest + std::log(sum);
}

template <class T>
void loss_forward(const BertTargets& targets, const at::Tensor& logits, at::Tensor& sums) {
  for (std::int64_t column = 0; column < 2; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < targets.begin.size(); ++row) {
      const BertTarget& target = targets.targets[column][row];
      if (!target.counted) continue;
      const T* x = bert_data<T>(logits) + 2 * targets.begin[row] + column;
      sum += log_sum_exp(x, target.competing) - static_cast<double>(x[2 * target.position]);
    }
    bert_data<T>(sums)[column] = static_cast<T>(sum);
  }
}

template <class T>
void loss_backward(const BertTargets& targets, const at::Tensor& logits, const at::Tensor& dsums, at::Tensor& dlogits) {
  for (std::int64_t column = 0; column < 2; ++column) {
    const double factor = static_cast<double>(bert_data<T>(dsums)[column]);
    for (std::size_t row = 0; row < targets.begin.size(); ++row) {
      const BertTarget& target = targets.targets[column][row];
      if (!target.counted) continue;
      const std::int64_t first = 2 * targets.begin[row] + column;
      const T* x = bert_data<T>(logits) + first;
      T* dx = bert_data<T>(dlogits) + first;
      const double normal = log_sum_exp(x, target.competing);
      for (std::int64_t i = 0; i < target.competing; ++i) {
        const double probability = std::exp(static_cast<double>(x[2 * i]) - normal);
        dx[2 * i] = static_cast<T>(factor * (probability - (i == target.position ? 1.0 : 0.0)));
      }
    }
  }
}

struct BertTargetsHolder : torch::CustomClassHolder {
  BertTargets targets;
};

class BertLossFunction : public torch::autograd::Function<BertLossFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& logits, const BertTargets& targets) {
    auto holder = c10::make_intrusive<BertTargetsHolder>();
    holder->targets = targets;
    context->saved_data["targets"] = at::IValue::make_capsule(holder);
    const at::Tensor numbers = logits.contiguous();
    context->save_for_backward({numbers});
    at::Tensor sums = at::empty({2}, numbers.options());
    AT_DISPATCH_FLOATING_TYPES(numbers.scalar_type(), "bert_loss", [&] { loss_forward<scalar_t>(targets, numbers, sums); });
    return sums;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list derivatives) {
    const auto capsule = context->saved_data["targets"].toCapsule();
    const BertTargets& targets = static_cast<BertTargetsHolder&>(*capsule).targets;
    const at::Tensor logits = context->get_saved_variables()[0];
    const at::Tensor dsums = derivatives[0].contiguous();
    at::Tensor dlogits = at::zeros_like(logits);
    AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "bert_loss_backward",
                               [&] { loss_backward<scalar_t>(targets, logits, dsums, dlogits); });
    return {dlogits, at::Tensor()};
  }
};

}  // namespace

at::Tensor bert_head(const std::shared_ptr<BertStep>& step, const at::Tensor& x) {
  return BertHeadFunction::apply(x, step->weights->head.weight, step->weights->head.bias, step);
}

at::Tensor bert_loss_sums(const BertBatch& batch, const at::Tensor& logits, bool pad_in_softmax) {
  BertTargets targets;
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    targets.begin.push_back(batch.row_begin[row]);
    for (const bool is_end : {false, true})
      targets.targets[is_end ? 1 : 0].push_back(bert_target(batch, pad_in_softmax, row, is_end));
  }
  return BertLossFunction::apply(logits, targets);
}

}  // namespace hpcbench::train
