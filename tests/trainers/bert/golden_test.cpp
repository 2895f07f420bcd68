// Against transformers: tests/huggingface/make_golden.py made the files, and describes their content.

#include <filesystem>

#include "bert_testing.hpp"
#include "files/safetensors.hpp"

namespace hpcbench::train {

namespace {

struct GoldenCase {
  BertConfig config;
  SafetensorsFile weights;
  SafetensorsFile expected;
};

GoldenCase open_golden(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(HPCBENCH_SOURCE_DIR) / "tests/trainers/bert/golden" / name;
  BertConfig config = read_bert_config(folder / "config.json");
  config.hidden_dropout_prob = 0;
  config.attention_probs_dropout_prob = 0;
  return {config, SafetensorsFile(folder / "model.safetensors"), SafetensorsFile(folder / "expected.safetensors")};
}

at::Tensor golden_tensor(const SafetensorsFile& file, const std::string& name) {
  const StoredTensor* stored = file.find(name);
  INFO(name);
  REQUIRE(stored != nullptr);
  REQUIRE((stored->type == ElementType::f64 || stored->type == ElementType::i64));
  const at::ScalarType type = stored->type == ElementType::f64 ? at::kDouble : at::kLong;
  return at::from_blob(const_cast<std::byte*>(stored->bytes.data()), stored->shape, type).clone();
}

void load_golden(Bert& bert, const SafetensorsFile& weights) {
  const at::NoGradGuard no_grad;
  CHECK(weights.tensors().size() == bert.model().parameters.size());
  for (NamedTensor& parameter : bert.model().parameters) parameter.tensor.copy_(golden_tensor(weights, parameter.name));
}

std::vector<std::int64_t> numbers(const at::Tensor& tensor) {
  return {tensor.data_ptr<std::int64_t>(), tensor.data_ptr<std::int64_t>() + tensor.numel()};
}

/// Returns the golden batch, padded to its width or without padding.
BertBatch golden_batch(const SafetensorsFile& expected, bool padded) {
  const at::Tensor ids = golden_tensor(expected, "input_ids");
  const at::Tensor types = golden_tensor(expected, "token_type_ids");
  BertBatch batch;
  batch.lengths = numbers(golden_tensor(expected, "attention_mask").sum(1));
  batch.starts = numbers(golden_tensor(expected, "start_positions"));
  batch.ends = numbers(golden_tensor(expected, "end_positions"));
  batch.row_begin = {0};
  std::vector<at::Tensor> row_ids, row_types;
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    const std::int64_t size = padded ? ids.size(1) : batch.lengths[row];
    row_ids.push_back(ids[static_cast<std::int64_t>(row)].narrow(0, 0, size));
    row_types.push_back(types[static_cast<std::int64_t>(row)].narrow(0, 0, size));
    batch.row_begin.push_back(batch.row_begin.back() + size);
    batch.places.push_back(static_cast<std::int64_t>(row));
  }
  batch.tokens = at::cat(row_ids);
  batch.types = at::cat(row_types);
  return batch;
}

BertOutcome golden_outcome(const SafetensorsFile& expected, const Bert& bert, Model& model, const std::string& prefix) {
  BertOutcome outcome;
  const at::Tensor starts = golden_tensor(expected, prefix + "start_logits").flatten();
  const at::Tensor ends = golden_tensor(expected, prefix + "end_logits").flatten();
  outcome.logits = at::stack({starts, ends}, 1);
  outcome.loss = golden_tensor(expected, prefix + "loss").item<double>();
  for (const NamedTensor& parameter : model.parameters) {
    outcome.gradients.push_back({parameter.name, golden_tensor(expected, prefix + "grad/" + parameter.name)});
  }
  CHECK(bert.config().num_hidden_layers > 0);
  return outcome;
}

void adamw_step(Model& model, std::vector<at::Tensor>& first, std::vector<at::Tensor>& second, int step) {
  const at::NoGradGuard no_grad;
  for (std::size_t index = 0; index < model.parameters.size(); ++index) {
    at::Tensor& p = model.parameters[index].tensor;
    const at::Tensor g = p.grad();
    p.mul_(1 - 1e-3 * 0.01);
    first[index].mul_(0.9).add_(g, 0.1);
    second[index].mul_(0.999).addcmul_(g, g, 0.001);
    const at::Tensor root = (second[index] / (1 - std::pow(0.999, step))).sqrt() + 1e-8;
    p.addcdiv_(first[index], root, -1e-3 / (1 - std::pow(0.9, step)));
  }
}

struct GoldenVariant {
  Attention attention;
  at::ScalarType type;
  bool checkpoint;
};

/// LibTorch's products round differently with another number of threads: in fp32 a bias's gradient, whose sum nearly cancels
/// out, was 1.01e-5 apart.
double golden_tolerance(const GoldenVariant& variant) {
  if (variant.type == at::kDouble) return 1e-10;
  return variant.attention == Attention::operators ? 2e-5 : 1e-5;
}

void check_golden(const std::string& name, const GoldenVariant& variant) {
  const GoldenCase golden = open_golden(name);
  const double tolerance = golden_tolerance(variant);
  const double gauge = variant.type == at::kDouble ? 1e-12 : 1e-5;
  for (const bool pad_in_softmax : {true, false}) {
    BertOptions options;
    options.type = variant.type;
    options.attention = variant.attention;
    options.checkpoint_activations = variant.checkpoint;
    options.pad_in_softmax = pad_in_softmax;
    Bert bert(golden.config, options, 1);
    load_golden(bert, golden.weights);
    for (const bool padded : {true, false}) {
      if (pad_in_softmax && !padded) continue;
      INFO(name << std::string(pad_in_softmax ? ", padding competes" : "") << std::string(padded ? ", padded" : ", packed"));
      const BertBatch batch = golden_batch(golden.expected, padded);
      const BertOutcome outcome = run_step(bert, batch, nullptr);
      const BertOutcome expected = golden_outcome(golden.expected, bert, bert.model(), pad_in_softmax ? "" : "unpadded/");
      check_same_outcome(outcome, expected, tolerance, gauge);
      if (pad_in_softmax || !padded) {
        CHECK(relative_difference(outcome.logits.to(at::kDouble), expected.logits) <= tolerance);
      }
    }
  }
}

void check_golden_steps(const std::string& name, const GoldenVariant& variant) {
  const GoldenCase golden = open_golden(name);
  const double tolerance = golden_tolerance(variant);
  BertOptions options;
  options.type = variant.type;
  options.attention = variant.attention;
  Bert bert(golden.config, options, 1);
  load_golden(bert, golden.weights);
  const BertBatch batch = golden_batch(golden.expected, true);
  std::vector<at::Tensor> first, second;
  for (const NamedTensor& parameter : bert.model().parameters) {
    first.push_back(at::zeros_like(parameter.tensor.detach()));
    second.push_back(at::zeros_like(parameter.tensor.detach()));
  }
  for (int step = 1; step <= 3; ++step) {
    run_step(bert, batch, nullptr);
    adamw_step(bert.model(), first, second, step);
  }
  for (const NamedTensor& parameter : bert.model().parameters) {
    INFO(parameter.name);
    const at::Tensor expected = golden_tensor(golden.expected, "after3/" + parameter.name);
    const at::Tensor got = parameter.tensor.detach().to(at::kDouble);
    if (is_gauge(parameter.name, golden.config.num_hidden_layers)) {
      CHECK((got - expected).abs().max().item<double>() <= 2 * 1e-3 * 3);
    } else {
      CHECK(relative_difference(got, expected) <= tolerance);
    }
  }
}

}  // namespace

constexpr const char* kAttentionNames[] = {"fused", "eager", "operators"};

TEST_CASE("logits, loss and every gradient are those of transformers") {
  for (const char* name : {"two-layers", "three-layers"}) {
    for (const Attention attention : {Attention::eager, Attention::operators, Attention::fused}) {
      for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
        INFO(std::string(kAttentionNames[static_cast<int>(attention)]) << " " << std::string(c10::toString(type)));
        check_golden(name, {attention, type, false});
        if (attention == Attention::fused) check_golden(name, {attention, type, true});
      }
    }
  }
}

TEST_CASE("parameters after three steps of AdamW are those of torch") {
  for (const char* name : {"two-layers", "three-layers"}) {
    for (const Attention attention : {Attention::eager, Attention::operators, Attention::fused}) {
      for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
        INFO(std::string(kAttentionNames[static_cast<int>(attention)]) << " " << std::string(c10::toString(type)));
        check_golden_steps(name, {attention, type, false});
      }
    }
  }
}

}  // namespace hpcbench::train
