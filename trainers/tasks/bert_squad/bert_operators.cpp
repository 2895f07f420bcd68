#include "tasks/bert_squad/bert_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>

#include "tasks/bert_squad/bert_operator_layer.hpp"

namespace hpcbench::train {

namespace {

at::Tensor operator_embeddings(const OperatorPass& pass, const BertNumbers& numbers) {
  const BertStep& step = *pass.step;
  const BertWeights& weights = *step.weights;
  at::Tensor x = at::embedding(weights.word, numbers.ids, kPaddingToken) + at::embedding(weights.position, numbers.positions) +
                 at::embedding(weights.type, numbers.types);
  x = at::layer_norm(x, {step.config.hidden_size}, weights.embeddings_norm.weight, weights.embeddings_norm.bias,
                     step.config.layer_norm_eps);
  return pass.dropped(x, step.embeddings_site).value.to(step.matrix_type());
}

}  // namespace

at::Tensor operator_logits(const std::shared_ptr<BertStep>& step, const Model& model) {
  auto pass = std::make_shared<OperatorPass>();
  pass->step = step;
  const BertNumbers& numbers = *step->numbers;
  pass->rows = numbers.rows;
  const auto layers = static_cast<int>(step->config.num_hidden_layers);
  // Where a unit's parameters may be away, each layer makes its own copies.
  std::vector<LayerTensors> copies =
      model.before_unit ? std::vector<LayerTensors>(static_cast<std::size_t>(layers)) : layer_copies(*step);
  at::Tensor x = in_unit(model, 0, [&] { return operator_embeddings(*pass, numbers); });
  for (int number = 0; number < layers; ++number) {
    LayerTensors& own = copies[static_cast<std::size_t>(number)];
    x = in_unit(model, number + 1, [&] { return operator_layer(pass, number, std::move(own), x); });
  }
  const BertLinear& head = step->weights->head;
  return in_unit(model, layers + 1, [&] { return at::linear(x.to(step->options.type), head.weight, head.bias); });
}

at::Tensor operator_loss_sums(const BertNumbers& numbers, const at::Tensor& logits) {
  const std::int64_t rows = numbers.gold.size(0) / 2;
  at::Tensor competing = logits;
  if (!numbers.in_order) {
    const at::Tensor weightless = at::full({1, 2}, -1e30, logits.options().requires_grad(false));
    competing = at::cat({logits, weightless}).index_select(0, numbers.from);
  }
  const at::Tensor by_row = competing.view({rows, numbers.widest, 2}).transpose(1, 2).reshape({2 * rows, numbers.widest});
  const at::Tensor losses =
      at::nll_loss(at::log_softmax(by_row, 1), numbers.gold, {}, at::Reduction::None, BertNumbers::kIgnored);
  return losses.view({rows, 2}).sum(0);
}

}  // namespace hpcbench::train
