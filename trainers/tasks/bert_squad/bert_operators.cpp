#include "tasks/bert_squad/bert_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "devices/bring.hpp"
#include "tasks/bert_squad/bert_operator_layer.hpp"

namespace hpcbench::train {

namespace {

/// The whole numbers of a pass, side by side, so that one copy takes all of them to the device.
class NumbersOfPass {
 public:
  NumbersOfPass(const BertRows& rows, at::Device place) : rows_(rows) {
    queries_ = rows.begin;
    keys_.assign(1, 0);
    for (const std::int64_t count : rows.keys) keys_.push_back(keys_.back() + count);
    is_padded_ = keys_.back() != rows.tokens;
    const std::int64_t begins = rows.count + 1;
    const std::int64_t tokens = rows.tokens;
    const at::Tensor host = at::empty({3 * tokens + begins + (is_padded_ ? keys_.back() + tokens : 0)}, at::kLong);
    auto* next = host.mutable_data_ptr<std::int64_t>();
    next = std::copy_n(rows.ids, tokens, next);
    next = std::copy_n(rows.positions.data(), tokens, next);
    next = std::copy_n(rows.types, tokens, next);
    // Two numbers of 32 bits in the place of one of 64.
    auto* const halves = reinterpret_cast<std::int32_t*>(next);
    std::copy(queries_.begin(), queries_.end(), halves);
    std::copy(keys_.begin(), keys_.end(), halves + begins);
    next += begins;
    for (std::int64_t row = 0; is_padded_ && row < rows.count; ++row) {
      const auto index = static_cast<std::size_t>(row);
      std::iota(next, next + rows.keys[index], rows.begin[index]);
      next += rows.keys[index];
    }
    for (std::int64_t row = 0; is_padded_ && row < rows.count; ++row) {
      const auto index = static_cast<std::size_t>(row);
      std::iota(next, next + rows.keys[index], keys_[index]);
      std::fill(next + rows.keys[index], next + rows.size(row), keys_.back());
      next += rows.size(row);
    }
    there_ = bring(host, place);
  }

  at::Tensor ids() const { return there_.narrow(0, 0, rows_.tokens); }
  at::Tensor positions() const { return there_.narrow(0, rows_.tokens, rows_.tokens); }
  at::Tensor types() const { return there_.narrow(0, 2 * rows_.tokens, rows_.tokens); }

  VarlenRows varlen_rows() const {
    VarlenRows varlen;
    varlen.queries = queries_;
    varlen.keys = keys_;
    for (std::int64_t row = 0; row < rows_.count; ++row) {
      varlen.most_queries = std::max(varlen.most_queries, rows_.size(row));
      varlen.most_keys = std::max(varlen.most_keys, rows_.keys[static_cast<std::size_t>(row)]);
    }
    const std::int64_t begins = rows_.count + 1;
    const at::Tensor halves = there_.narrow(0, 3 * rows_.tokens, begins).view(at::kInt);
    varlen.queries_there = halves.narrow(0, 0, begins);
    varlen.keys_there = halves.narrow(0, begins, begins);
    if (!is_padded_) return varlen;
    varlen.key_tokens = there_.narrow(0, 3 * rows_.tokens + begins, keys_.back());
    varlen.token_keys = there_.narrow(0, 3 * rows_.tokens + begins + keys_.back(), rows_.tokens);
    return varlen;
  }

 private:
  const BertRows& rows_;
  std::vector<std::int64_t> queries_, keys_;
  bool is_padded_ = false;
  at::Tensor there_;
};

at::Tensor operator_embeddings(const OperatorPass& pass, const NumbersOfPass& numbers) {
  const BertStep& step = *pass.step;
  const BertWeights& weights = *step.weights;
  at::Tensor x = at::embedding(weights.word, numbers.ids(), kPaddingToken) +
                 at::embedding(weights.position, numbers.positions()) + at::embedding(weights.type, numbers.types());
  x = at::layer_norm(x, {step.config.hidden_size}, weights.embeddings_norm.weight, weights.embeddings_norm.bias,
                     step.config.layer_norm_eps);
  return pass.dropped(x, step.embeddings_site).value.to(step.matrix_type());
}

/// Where the loss looks in the logits of a batch.
struct LossNumbers {
  std::int64_t widest = 0;  // most positions that compete in a row
  bool in_order = true;     // every position of every row competes, and all rows are of one size
  at::Tensor gold;          // [rows * 2]: a row's start and end, kIgnored where it does not count
  at::Tensor from;          // [rows * widest]: each competing position's logits; beyond a row's end the token after the last
};

constexpr std::int64_t kIgnored = -100;

LossNumbers loss_numbers(const BertBatch& batch, bool pad_in_softmax, at::Device place) {
  LossNumbers numbers;
  const std::int64_t rows = std::ssize(batch.lengths);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(row);
    const std::int64_t competing = bert_target(batch, pad_in_softmax, index, false).competing;
    numbers.widest = std::max(numbers.widest, competing);
    numbers.in_order =
        numbers.in_order && competing == batch.row_begin[1] && batch.row_begin[index + 1] == (row + 1) * competing;
  }
  const at::Tensor host = at::empty({rows * (2 + (numbers.in_order ? 0 : numbers.widest))}, at::kLong);
  auto* const gold = host.mutable_data_ptr<std::int64_t>();
  std::int64_t* const from = gold + 2 * rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(row);
    for (std::int64_t column = 0; column < 2; ++column) {
      const BertTarget target = bert_target(batch, pad_in_softmax, index, column == 1);
      gold[2 * row + column] = target.counted ? target.position : kIgnored;
    }
    if (numbers.in_order) continue;
    const std::int64_t competing = bert_target(batch, pad_in_softmax, index, false).competing;
    std::int64_t* const of_row = from + row * numbers.widest;
    std::iota(of_row, of_row + competing, batch.row_begin[index]);
    std::fill(of_row + competing, of_row + numbers.widest, batch.row_begin.back());
  }
  const at::Tensor there = bring(host, place);
  numbers.gold = there.narrow(0, 0, 2 * rows);
  if (!numbers.in_order) numbers.from = there.narrow(0, 2 * rows, rows * numbers.widest);
  return numbers;
}

}  // namespace

at::Tensor operator_logits(const std::shared_ptr<BertStep>& step, const Model& model) {
  auto pass = std::make_shared<OperatorPass>();
  pass->step = step;
  pass->keeps_copies = !model.before_unit;
  const NumbersOfPass numbers(step->rows, step->weights->word.device());
  pass->rows = numbers.varlen_rows();
  if (pass->rows.key_tokens.defined()) {
    pass->nothing =
        at::zeros({1, 2, step->config.hidden_size}, at::TensorOptions(numbers.ids().device()).dtype(step->matrix_type()));
  }
  const auto layers = static_cast<int>(step->config.num_hidden_layers);
  at::Tensor x = in_unit(model, 0, [&] { return operator_embeddings(*pass, numbers); });
  for (int number = 0; number < layers; ++number)
    x = in_unit(model, number + 1, [&] { return operator_layer(pass, number, x); });
  const BertLinear& head = step->weights->head;
  return in_unit(model, layers + 1, [&] { return at::linear(x.to(step->options.type), head.weight, head.bias); });
}

at::Tensor operator_loss_sums(const BertBatch& batch, const at::Tensor& logits, bool pad_in_softmax) {
  const std::int64_t rows = std::ssize(batch.lengths);
  const LossNumbers numbers = loss_numbers(batch, pad_in_softmax, logits.device());
  at::Tensor competing = logits;
  if (!numbers.in_order) {
    const at::Tensor weightless = at::full({1, 2}, -1e30, logits.options().requires_grad(false));
    competing = at::cat({logits, weightless}).index_select(0, numbers.from);
  }
  const at::Tensor by_row = competing.view({rows, numbers.widest, 2}).transpose(1, 2).reshape({2 * rows, numbers.widest});
  const at::Tensor losses = at::nll_loss(at::log_softmax(by_row, 1), numbers.gold, {}, at::Reduction::None, kIgnored);
  return losses.view({rows, 2}).sum(0);
}

}  // namespace hpcbench::train
