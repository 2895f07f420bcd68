#include "tasks/bert_squad/bert.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <mutex>

#include "base/error.hpp"
#include "devices/bring.hpp"
#include "tasks/bert_squad/bert_eager.hpp"
#include "tasks/bert_squad/bert_ends.hpp"
#include "tasks/bert_squad/bert_layer.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"
#include "tasks/bert_squad/bert_operators.hpp"
#include "tasks/bert_squad/bert_products.hpp"
#include "tasks/bert_squad/bert_weights.hpp"

namespace hpcbench::train {

struct Bert::State {
  BertConfig config;
  BertOptions options;
  Model model;
  std::shared_ptr<BertWeights> weights;
  std::shared_ptr<BertBuffers> buffers;
  std::shared_ptr<TouchedRows> touched;                                                           // of the word embeddings
  std::shared_ptr<std::vector<at::Tensor>> copies = std::make_shared<std::vector<at::Tensor>>();  // see BertStep
};

namespace {

void require_possible(const BertConfig& config, const BertOptions& options) {
  if (options.type != at::kFloat && options.type != at::kDouble)
    throw InputError("error: the parameters of BERT are fp32 or fp64");
  if (options.bf16 && options.type != at::kFloat) throw InputError("error: bf16 needs fp32 parameters");
  if (options.checkpoint_activations && options.attention != Attention::fused)
    throw InputError("error: activation checkpointing needs fused attention");
  if (options.dropout_bits == DropoutBits::device && options.attention != Attention::operators)
    throw InputError("error: dropout_bits device needs LibTorch's operators");
  for (const double rate : {config.hidden_dropout_prob, config.attention_probs_dropout_prob}) {
    if (!(rate >= 0 && rate < 1)) throw InputError("error: a dropout rate must be at least 0 and below 1");
  }
  if (config.num_attention_heads < 1 || config.hidden_size % config.num_attention_heads != 0)
    throw InputError("error: hidden_size must be a multiple of num_attention_heads");
}

void set_dropout(BertStep& step, const BertDropout& dropout) {
  step.embeddings_site = dropout.embeddings();
  for (std::int64_t number = 0; number < step.config.num_hidden_layers; ++number) {
    step.attention_sites.push_back(dropout.attention(number));
    step.attention_output_sites.push_back(dropout.attention_output(number));
    step.output_sites.push_back(dropout.output(number));
  }
}

/// So that a pass draws the same bits whatever was drawn before it, also in a resumed run.
void seed_generator(at::Device device, const DropoutKey& key, std::int64_t place) {
  const std::uint64_t seed = kernels::dropout_site(key.seed, key.step, static_cast<std::uint64_t>(place), 0).key;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

bool has_attention_kernel(const BertConfig& config, const BertOptions& options, at::Device place) {
  const at::ScalarType type = options.bf16 ? at::kBFloat16 : options.type;
  const bool is_hashed = options.dropout_bits == DropoutBits::hash && config.attention_probs_dropout_prob > 0;
  return has_varlen_kernel(place, type, config.hidden_size / config.num_attention_heads, is_hashed);
}

Bert::Bert(const BertConfig& config, const BertOptions& options, std::uint64_t seed) {
  require_possible(config, options);
  state_ = std::make_unique<State>();
  state_->config = config;
  state_->options = options;
  state_->weights = std::make_shared<BertWeights>(make_bert_weights(config, options.type, seed, state_->model));
  state_->buffers = std::make_shared<BertBuffers>();
  state_->touched = std::make_shared<TouchedRows>(config.vocab_size);
  if (options.attention == Attention::fused) state_->model.parameters.front().touched = state_->touched;
}

Bert::~Bert() = default;
Bert::Bert(Bert&&) noexcept = default;
Bert& Bert::operator=(Bert&&) noexcept = default;

const BertConfig& Bert::config() const { return state_->config; }
Model& Bert::model() { return state_->model; }

void Bert::bring(BertBatch& batch, const DropoutKey* dropout) const {
  if (state_->options.attention != Attention::operators) return;
  const std::shared_ptr<BertNumbers> numbers = prepare(batch, dropout);
  numbers->lie_in(hpcbench::train::bring(numbers->packed, state_->weights->word.device()));
  batch.there = numbers;
}

std::shared_ptr<BertNumbers> Bert::prepare(const BertBatch& batch, const DropoutKey* dropout) const {
  const BertOptions& options = state_->options;
  const at::Device place = state_->weights->word.device();
  const bool is_hashed = options.dropout_bits == DropoutBits::hash;
  if (dropout && !is_hashed) seed_generator(place, *dropout, batch.places.front());
  const BertNumbersForm form{options.pad_in_softmax, is_hashed ? 1 : options.tokens_multiple, options.fixed_shape, dropout};
  auto numbers = std::make_shared<BertNumbers>(batch, check_rows(batch, state_->config), state_->config, form);
  const VarlenRows& rows = numbers->rows;
  if (!has_attention_kernel(state_->config, options, place)) {
    for (const std::vector<std::int64_t>* begins : {&rows.queries, &rows.keys})
      numbers->shape.insert(numbers->shape.end(), begins->begin(), begins->end());
  }
  return numbers;
}

at::Tensor Bert::logits(const BertBatch& batch, const DropoutKey* dropout) {
  if (state_->options.attention == Attention::operators && !batch.there) {
    BertBatch brought = batch;
    bring(brought, dropout);
    return logits(brought, dropout);
  }
  BertRows rows = check_rows(batch, state_->config);
  if (state_->options.attention == Attention::eager)
    return eager_logits(*state_->weights, state_->config, state_->options, rows, dropout, state_->model);
  auto step = std::make_shared<BertStep>();
  step->config = state_->config;
  step->options = state_->options;
  step->weights = state_->weights;
  step->buffers = state_->buffers;
  step->touched = state_->touched;
  step->copies = state_->copies;
  step->ids = batch.tokens;
  step->types = batch.types;
  step->padded_rows = bert_padded_rows(rows.tokens);
  step->rows = std::move(rows);
  set_dropout(*step, BertDropout(dropout, state_->config));
  const Model& model = state_->model;
  if (state_->options.attention == Attention::operators) {
    step->numbers = batch.there;
    return operator_logits(step, model);
  }
  step->buffers->begin_pass(step->padded_rows);
  const auto layers = static_cast<int>(state_->config.num_hidden_layers);
  at::Tensor x = in_unit(model, 0, [&] { return bert_embeddings(step); });
  for (int number = 0; number < layers; ++number) x = in_unit(model, number + 1, [&] { return bert_layer(step, number, x); });
  // Otherwise the last layer's result, held by the step, which the result's graph holds, would keep itself alive forever.
  step->matrix = at::Tensor();
  return in_unit(model, layers + 1, [&] { return bert_head(step, x); });
}

at::Tensor Bert::loss_sums(const BertBatch& batch, const at::Tensor& logits) const {
  const bool pad_in_softmax = state_->options.pad_in_softmax;
  switch (state_->options.attention) {
    case Attention::eager:
      return eager_loss_sums(batch, logits, pad_in_softmax);
    case Attention::operators: {
      BertBatch brought = batch;
      if (!brought.there) bring(brought, nullptr);
      return operator_loss_sums(brought.there, logits);
    }
    case Attention::fused:
      break;
  }
  return bert_loss_sums(batch, logits, pad_in_softmax);
}

BertLoss Bert::loss(const BertBatch& batch, const at::Tensor& logits) {
  const bool pad_in_softmax = state_->options.pad_in_softmax;
  BertLoss loss;
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    loss.counted_starts += bert_target(batch, pad_in_softmax, row, false).counted ? 1 : 0;
    loss.counted_ends += bert_target(batch, pad_in_softmax, row, true).counted ? 1 : 0;
  }
  const Attention attention = state_->options.attention;
  const at::Tensor sums = loss_sums(batch, logits);
  loss.start_sum = sums.select(0, 0);
  loss.end_sum = sums.select(0, 1);
  const auto divisor = [](std::int64_t counted) { return static_cast<double>(2 * std::max<std::int64_t>(counted, 1)); };
  if (attention == Attention::operators && loss.counted_starts == loss.counted_ends) {
    loss.mean = sums.sum() / divisor(loss.counted_starts);
    return loss;
  }
  loss.mean = loss.start_sum / divisor(loss.counted_starts) + loss.end_sum / divisor(loss.counted_ends);
  return loss;
}

}  // namespace hpcbench::train
