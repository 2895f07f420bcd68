#include "tasks/bert_squad/bert_weights.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "kernels/bert_hash.hpp"
#include "kernels/bert_kernels.hpp"
#include "kernels/zero_pages.hpp"
#include "optim/prefault.hpp"

namespace hpcbench::train {

namespace {

/// The initial values of a parameter, whose memory begins as zeros.
enum class BertFill { normal, zero, one };

struct BertParameterPlan {
  std::size_t index;
  BertFill fill;
};

/// The work of a thread at a time: some groups of normal numbers of one parameter.
struct BertDraw {
  kernels::NormalFill fill;
  std::int64_t begin;
  std::int64_t end;
};

/// Lists parameters first and draws all of them at the end, in parallel.
class BertParameters {
 public:
  BertParameters(const BertConfig& config, at::ScalarType type, std::uint64_t seed, Model& model)
      : config_(config), type_(type), seed_(seed), model_(model) {}

  at::Tensor add(const std::string& name, at::Tensor tensor, BertFill fill) {
    plans_.push_back({model_.parameters.size(), fill});
    model_.parameters.push_back({name, tensor});
    return tensor;
  }

  at::Tensor add(const std::string& name, at::IntArrayRef sizes, BertFill fill) { return add(name, make(sizes), fill); }

  BertLinear linear(const std::string& name, std::int64_t out, std::int64_t in) {
    return {add(name + ".weight", {out, in}, BertFill::normal), add(name + ".bias", {out}, BertFill::zero)};
  }

  BertNorm norm(const std::string& name) {
    return {add(name + ".weight", {config_.hidden_size}, BertFill::one),
            add(name + ".bias", {config_.hidden_size}, BertFill::zero)};
  }

  /// Three linear layers whose weights and biases are thirds of one tensor each. The thirds are made from the storage, not as
  /// views: parameters are leaves.
  void query_key_value(const std::string& name, BertLayerWeights& layer) {
    const std::int64_t hidden = config_.hidden_size;
    const at::Tensor weights = make({3 * hidden, hidden});
    const at::Tensor biases = make({3 * hidden});
    const char* const names[] = {"query", "key", "value"};
    BertLinear* const parts[] = {&layer.query, &layer.key, &layer.value};
    for (std::int64_t part = 0; part < 3; ++part) {
      parts[part]->weight =
          add(name + names[part] + ".weight", weights.narrow(0, part * hidden, hidden).detach(), BertFill::normal);
    }
    for (std::int64_t part = 0; part < 3; ++part) {
      parts[part]->bias = add(name + names[part] + ".bias", biases.narrow(0, part * hidden, hidden).detach(), BertFill::zero);
    }
  }

  void fill() {
    std::vector<BertDraw> draws;
    std::vector<std::pair<at::Tensor, at::Tensor>> to_convert;
    for (const BertParameterPlan& plan : plans_) {
      const at::Tensor& tensor = model_.parameters[plan.index].tensor;
      if (plan.fill == BertFill::one) tensor.fill_(1.0);
      if (plan.fill != BertFill::normal) continue;
      // The same numbers in fp64.
      const at::Tensor drawn = type_ == at::kFloat ? tensor : at::empty(tensor.sizes(), at::kFloat);
      if (type_ != at::kFloat) to_convert.emplace_back(tensor, drawn);
      add_draws(model_.parameters[plan.index].name, drawn, draws);
    }
    at::parallel_for(0, std::ssize(draws), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t number = begin; number < end; ++number) {
        const BertDraw& draw = draws[static_cast<std::size_t>(number)];
        kernels::fill_normal(draw.fill, draw.begin, draw.end);
      }
    });
    for (auto& [tensor, drawn] : to_convert) tensor.copy_(drawn);
    for (NamedTensor& parameter : model_.parameters) parameter.tensor.requires_grad_();
  }

 private:
  /// Returns zeros.
  at::Tensor make(at::IntArrayRef sizes) {
    const auto count = static_cast<std::size_t>(c10::multiply_integers(sizes));
    const std::shared_ptr<void> memory = arena_.take(count * c10::elementSize(type_));
    return at::from_blob(
        memory.get(), sizes, [memory](void*) {}, at::TensorOptions(type_));
  }

  void add_draws(const std::string& name, const at::Tensor& tensor, std::vector<BertDraw>& draws) const {
    constexpr std::int64_t kGroups = 2048;  // of one unit of work
    std::uint64_t key = kernels::mix_bits(seed_);
    for (const char c : name) key = kernels::mix_bits(key ^ static_cast<unsigned char>(c));
    const kernels::NormalFill fill{key, config_.initializer_range, tensor.numel(), tensor.data_ptr<float>()};
    const std::int64_t groups = (fill.count + kernels::kNormalsOfGroup - 1) / kernels::kNormalsOfGroup;
    for (std::int64_t begin = 0; begin < groups; begin += kGroups)
      draws.push_back({fill, begin, std::min(begin + kGroups, groups)});
  }

  const BertConfig& config_;
  at::ScalarType type_;
  std::uint64_t seed_;
  Model& model_;
  kernels::PageArena arena_{touch_in_parallel};
  std::vector<BertParameterPlan> plans_;
};

/// Embeddings 0, layers 1 to L, head L + 1.
int bert_unit_of(const std::string& name, const BertConfig& config) {
  const std::string layer = "bert.encoder.layer.";
  if (name.rfind(layer, 0) == 0) return 1 + std::stoi(name.substr(layer.size()));
  return name.rfind("qa_outputs", 0) == 0 ? static_cast<int>(config.num_hidden_layers) + 1 : 0;
}

}  // namespace

BertWeights make_bert_weights(const BertConfig& config, at::ScalarType type, std::uint64_t seed, Model& model) {
  BertParameters parameters(config, type, seed, model);
  const std::int64_t hidden = config.hidden_size;
  BertWeights weights;
  weights.word = parameters.add("bert.embeddings.word_embeddings.weight", {config.vocab_size, hidden}, BertFill::normal);
  weights.position =
      parameters.add("bert.embeddings.position_embeddings.weight", {config.max_position_embeddings, hidden}, BertFill::normal);
  weights.type =
      parameters.add("bert.embeddings.token_type_embeddings.weight", {config.type_vocab_size, hidden}, BertFill::normal);
  weights.embeddings_norm = parameters.norm("bert.embeddings.LayerNorm");
  for (std::int64_t number = 0; number < config.num_hidden_layers; ++number) {
    const std::string name = concat("bert.encoder.layer.", number, ".");
    BertLayerWeights layer;
    parameters.query_key_value(name + "attention.self.", layer);
    layer.attention_output = parameters.linear(name + "attention.output.dense", hidden, hidden);
    layer.attention_norm = parameters.norm(name + "attention.output.LayerNorm");
    layer.intermediate = parameters.linear(name + "intermediate.dense", config.intermediate_size, hidden);
    layer.output = parameters.linear(name + "output.dense", hidden, config.intermediate_size);
    layer.output_norm = parameters.norm(name + "output.LayerNorm");
    weights.layers.push_back(layer);
  }
  weights.head = parameters.linear("qa_outputs", 2, hidden);
  parameters.fill();
  for (NamedTensor& parameter : model.parameters) parameter.unit = bert_unit_of(parameter.name, config);
  const at::NoGradGuard no_grad;
  weights.word.select(0, kPaddingToken).zero_();
  return weights;
}

}  // namespace hpcbench::train
