#include "tasks/bert_squad/bert_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tasks/bert_squad/bert_operator_layer.hpp"

namespace hpcbench::train {

namespace {

/// The numbers of a pass, held by a node of the graph.
struct NumbersHolder : torch::CustomClassHolder {
  explicit NumbersHolder(std::shared_ptr<const BertNumbers> held) : numbers(std::move(held)) {}
  std::shared_ptr<const BertNumbers> numbers;
};

at::IValue held(const std::shared_ptr<const BertNumbers>& numbers) {
  return at::IValue::make_capsule(c10::make_intrusive<NumbersHolder>(numbers));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::shared_ptr<const BertNumbers> kept_numbers(AutogradContext& context) {
  const auto capsule = context.saved_data["numbers"].toCapsule();
  return static_cast<NumbersHolder&>(*capsule).numbers;
}

/// The sums of each token's word, position and type. It keeps no parameters, which may be freed between the passes.
class OperatorEmbeddingsFunction : public torch::autograd::Function<OperatorEmbeddingsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& word, const at::Tensor& position,
                            const at::Tensor& type, const std::shared_ptr<const BertNumbers>& numbers) {
    context->saved_data["numbers"] = held(numbers);
    context->saved_data["rows"] = std::vector<std::int64_t>{word.size(0), position.size(0), type.size(0)};
    return at::embedding(word, numbers->ids)
        .add_(at::embedding(position, numbers->positions))
        .add_(at::embedding(type, numbers->types));
  }

  static variable_list backward(AutogradContext* context, variable_list derivatives) {
    const at::Tensor of_tables = kept_numbers(*context)->look_ups.of(derivatives[0].contiguous());
    variable_list result = of_tables.split_with_sizes(context->saved_data["rows"].toIntVector());
    result.emplace_back();  // the numbers
    return result;
  }
};

/// The competing logits, [rows * 2 * widest], each beside its competitors.
class CompetingFunction : public torch::autograd::Function<CompetingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const std::shared_ptr<const BertNumbers>& numbers) {
    context->saved_data["numbers"] = held(numbers);
    return logits.view(-1).index_select(0, numbers->from).add_(numbers->beyond);
  }

  static variable_list backward(AutogradContext* context, variable_list derivatives) {
    const auto numbers = kept_numbers(*context);
    const at::Tensor column = derivatives[0].contiguous().view({-1, 1});
    return {sums_of_rows(column, numbers->slots, numbers->slot_begins).view({-1, 2}), at::Tensor()};
  }
};

/// Returns the logits in the order of CompetingFunction, if every token's compete.
at::Tensor ends_apart(const at::Tensor& logits, std::int64_t rows) {
  return logits.view({rows, -1, 2}).transpose(1, 2).reshape({-1});
}

at::Tensor operator_embeddings(const OperatorPass& pass, const std::shared_ptr<const BertNumbers>& numbers) {
  const BertStep& step = *pass.step;
  const BertWeights& weights = *step.weights;
  at::Tensor x = OperatorEmbeddingsFunction::apply(weights.word, weights.position, weights.type, numbers);
  x = at::layer_norm(x, {step.config.hidden_size}, weights.embeddings_norm.weight, weights.embeddings_norm.bias,
                     step.config.layer_norm_eps);
  return pass.dropped(x, step.embeddings_site).value.to(step.matrix_type());
}

}  // namespace

at::Tensor operator_logits(const std::shared_ptr<BertStep>& step, const Model& model) {
  auto pass = std::make_shared<OperatorPass>();
  pass->step = step;
  pass->rows = step->numbers->rows;
  if (step->options.gpu_program) pass->gpu_rows.emplace(step->options.gpu_program);
  const auto layers = static_cast<int>(step->config.num_hidden_layers);
  // If a unit's parameters may be freed, each layer makes its own copies.
  std::vector<LayerTensors> copies =
      model.before_unit ? std::vector<LayerTensors>(static_cast<std::size_t>(layers)) : layer_copies(*step);
  at::Tensor x = in_unit(model, 0, [&] { return operator_embeddings(*pass, step->numbers); });
  for (int number = 0; number < layers; ++number) {
    LayerTensors& own = copies[static_cast<std::size_t>(number)];
    x = in_unit(model, number + 1, [&] { return operator_layer(pass, number, std::move(own), x); });
  }
  const BertLinear& head = step->weights->head;
  return in_unit(model, layers + 1, [&] { return at::linear(x.to(step->options.type), head.weight, head.bias); });
}

at::Tensor operator_loss_sums(const std::shared_ptr<const BertNumbers>& numbers, const at::Tensor& logits) {
  const std::int64_t rows = numbers->gold.size(0) / 2;
  const at::Tensor competing = numbers->in_order ? ends_apart(logits, rows) : CompetingFunction::apply(logits, numbers);
  const at::Tensor by_row = competing.view({2 * rows, numbers->widest});
  const at::Tensor losses =
      at::nll_loss(at::log_softmax(by_row, 1), numbers->gold, {}, at::Reduction::None, BertNumbers::kIgnored);
  return losses.view({rows, 2}).sum(0);
}

}  // namespace hpcbench::train
