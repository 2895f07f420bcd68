#include "bert_testing.hpp"

namespace hpcbench::train {

BertConfig tiny_bert_config() {
  BertConfig config;
  config.num_hidden_layers = 2;
  config.hidden_size = 24;
  config.num_attention_heads = 3;
  config.intermediate_size = 50;
  config.vocab_size = 61;
  config.max_position_embeddings = 40;
  return config;
}

BertBatch random_batch(const BertConfig& config, const std::vector<std::int64_t>& lengths, std::int64_t padded_to,
                       std::vector<std::int64_t> places) {
  BertBatch batch;
  if (places.empty()) {
    for (std::size_t row = 0; row < lengths.size(); ++row) places.push_back(static_cast<std::int64_t>(row));
  }
  batch.row_begin = {0};
  std::vector<std::int64_t> tokens, types;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const std::int64_t length = lengths[row];
    const auto draw = [&](std::int64_t number, std::int64_t below) {
      const std::uint64_t key = kernels::mix_bits(static_cast<std::uint64_t>(places[row] * 100000 + number));
      return static_cast<std::int64_t>(key % static_cast<std::uint64_t>(below));
    };
    for (std::int64_t position = 0; position < std::max(length, padded_to); ++position) {
      tokens.push_back(position < length ? 1 + draw(position, config.vocab_size - 1) : kPaddingToken);
      types.push_back(position < length && position > length / 3 ? 1 : 0);
    }
    batch.row_begin.push_back(std::ssize(tokens));
    batch.lengths.push_back(length);
    batch.starts.push_back(draw(50000, length));
    batch.ends.push_back(draw(50001, length));
  }
  batch.places = places;
  batch.tokens = at::tensor(tokens, at::kLong);
  batch.types = at::tensor(types, at::kLong);
  return batch;
}

void perturb(Bert& bert, double deviation, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (NamedTensor& parameter : bert.model().parameters) {
    const at::Tensor noise = at::empty(parameter.tensor.sizes(), at::kDouble).normal_(0.0, deviation, generator);
    parameter.tensor.add_(noise.to(parameter.tensor.scalar_type()));
  }
}

BertOutcome run_step(Bert& bert, const BertBatch& batch, const DropoutKey* dropout) {
  for (NamedTensor& parameter : bert.model().parameters) parameter.tensor.mutable_grad() = at::Tensor();
  BertOutcome outcome;
  const at::Tensor logits = bert.logits(batch, dropout);
  const BertLoss loss = bert.loss(batch, logits);
  loss.mean.backward();
  outcome.logits = logits.detach();
  outcome.loss = loss.mean.item<double>();
  for (const NamedTensor& parameter : bert.model().parameters) {
    outcome.gradients.push_back({parameter.name, parameter.tensor.grad()});
  }
  return outcome;
}

bool is_gauge(const std::string& name, std::int64_t layers) {
  return name.ends_with("attention.self.key.bias") || name == "qa_outputs.bias" ||
         name == "bert.encoder.layer." + std::to_string(layers - 1) + ".output.LayerNorm.bias";
}

void check_same_outcome(const BertOutcome& a, const BertOutcome& b, double tolerance, double gauge) {
  std::int64_t layers = 0;
  double largest = 0;
  for (const NamedTensor& gradient : b.gradients) {
    if (gradient.name.ends_with("query.weight")) ++layers;
    if (gradient.tensor.defined()) largest = std::max(largest, gradient.tensor.norm().item<double>());
  }
  CHECK(std::abs(a.loss - b.loss) <= tolerance * std::max(1.0, std::abs(b.loss)));
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (std::size_t index = 0; index < a.gradients.size(); ++index) {
    const std::string& name = b.gradients[index].name;
    INFO(name);
    REQUIRE(a.gradients[index].name == name);
    REQUIRE(a.gradients[index].tensor.defined());
    REQUIRE(b.gradients[index].tensor.defined());
    if (is_gauge(name, layers)) {
      CHECK(a.gradients[index].tensor.norm().item<double>() <= gauge * largest);
      CHECK(b.gradients[index].tensor.norm().item<double>() <= gauge * largest);
    } else {
      CHECK(relative_difference(a.gradients[index].tensor.to(at::kDouble), b.gradients[index].tensor.to(at::kDouble)) <=
            tolerance);
    }
  }
}

}  // namespace hpcbench::train
