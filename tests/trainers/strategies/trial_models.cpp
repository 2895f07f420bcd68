#include "trainers/strategies/trial_models.hpp"

#include "tasks/bert_squad/bert.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"
#include "trainers/ranks.hpp"

namespace hpcbench::train {

namespace {

/// The parts of a task that trials do not use.
class TrialTask : public Task {
 public:
  explicit TrialTask(const Trial& trial) : trial_(trial) {}
  std::unique_ptr<Trainee> another(at::Device) const override { return make_trial_task(trial_); }
  void load() override {}
  std::vector<Note> notes() const override { return {}; }
  std::int64_t train_samples() const override { return 1 << 20; }
  std::int64_t validation_samples() const override { return 0; }
  std::vector<Measure> evaluate(std::int64_t, std::int64_t) override { return {}; }

 private:
  Trial trial_;
};

/// Returns a number that looks drawn: splitmix64.
std::uint64_t drawn(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

class BertTrial final : public TrialTask {
 public:
  explicit BertTrial(const Trial& trial) : TrialTask(trial), dropout_(trial.dropout) {
    const bool wide = trial.model == "bert_wide";
    config_.num_hidden_layers = wide ? 3 : kTrialBertLayers;
    config_.hidden_size = wide ? 64 : 32;
    config_.num_attention_heads = 2;
    config_.intermediate_size = 2 * config_.hidden_size;
    config_.vocab_size = wide ? 301 : 61;
    config_.max_position_embeddings = 40;
    config_.initializer_range = 0.1;
    bert_ = std::make_unique<Bert>(config_, BertOptions{trial.single ? at::kFloat : at::kDouble, trial.bf16}, 7);
  }
  Model& model() override { return bert_->model(); }

  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override {
    constexpr std::int64_t kLength = 12;
    const std::int64_t rows = samples.size(0);
    BertBatch batch;
    batch.tokens = at::empty({rows * kLength}, at::kLong);
    batch.types = at::empty({rows * kLength}, at::kLong);
    batch.row_begin = {0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto sample = static_cast<std::uint64_t>(samples[row].item<std::int64_t>());
      const auto length = static_cast<std::int64_t>(6 + drawn(sample) % 7);
      for (std::int64_t at = 0; at < kLength; ++at) {
        const std::uint64_t word = drawn(sample * 100 + static_cast<std::uint64_t>(at)) % 60;
        batch.tokens[row * kLength + at] = at < length ? static_cast<std::int64_t>(1 + word) : 0;
        batch.types[row * kLength + at] = at >= 3 && at < length ? 1 : 0;
      }
      batch.row_begin.push_back((row + 1) * kLength);
      batch.lengths.push_back(length);
      batch.places.push_back(place.first_position + row * place.stride);
      batch.starts.push_back(static_cast<std::int64_t>(drawn(sample * 7 + 1) % 5));
      batch.ends.push_back(static_cast<std::int64_t>(drawn(sample * 7 + 2) % 5));
    }
    const DropoutKey key{11, place.step};
    return bert_->loss(batch, bert_->logits(batch, dropout_ ? &key : nullptr)).mean;
  }

 private:
  bool dropout_;
  BertConfig config_;
  std::unique_ptr<Bert> bert_;
};

/// Ten units of two matrices each; shapes that divide evenly, so that formulas of memory and traffic can be checked.
class ChainTrial final : public TrialTask {
 public:
  explicit ChainTrial(const Trial& trial)
      : TrialTask(trial), type_(trial.single ? at::kFloat : at::kDouble), product_type_(trial.bf16 ? at::kBFloat16 : type_) {
    for (int unit = 0; unit < kTrialChainUnits; ++unit) {
      for (const char* const name : {".in", ".out"}) {
        const bool in = name == std::string(".in");
        const std::int64_t rows = in ? kTrialChainWidth / 2 : kTrialChainWidth;
        at::Tensor weight = numbers(rows * (kTrialChainWidth * 3 / 2 - rows), static_cast<std::uint64_t>(unit * 2 + in))
                                .view({rows, kTrialChainWidth * 3 / 2 - rows});
        model_.parameters.push_back({std::to_string(unit) + name, (weight * 0.2).requires_grad_(), unit});
      }
    }
  }
  Model& model() override { return model_; }

  at::Tensor loss(const at::Tensor& samples, const StepPlace&) override {
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < samples.size(0); ++row)
      rows.push_back(numbers(kTrialChainWidth, 1000 + static_cast<std::uint64_t>(samples[row].item<std::int64_t>())));
    const at::Tensor input = at::stack(rows);
    at::Tensor x = input;
    for (std::size_t unit = 0; unit < kTrialChainUnits; ++unit) {
      if (model_.before_unit) model_.before_unit(static_cast<int>(unit));
      const at::Tensor inner = at::tanh(at::linear(x.to(product_type_), factor(2 * unit)));
      x = x + inner.matmul(factor(2 * unit + 1).t()).to(type_);
      if (model_.after_unit) model_.after_unit(static_cast<int>(unit), x);
    }
    return (x - input.roll(1, 1)).square().mean();
  }

 private:
  /// Between -1 and 1.
  at::Tensor numbers(std::int64_t count, std::uint64_t stream) const {
    at::Tensor values = at::empty({count}, at::kDouble);
    for (std::int64_t index = 0; index < count; ++index)
      values.data_ptr<double>()[index] =
          static_cast<double>(drawn(stream * 1000003 + static_cast<std::uint64_t>(index)) >> 11) * 0x1p-52 - 1;
    return values.to(type_);
  }

  at::Tensor factor(std::size_t parameter) const { return model_.parameters[parameter].tensor.to(product_type_); }

  at::ScalarType type_;
  at::ScalarType product_type_;
  Model model_;
};

class UnusedTrial final : public TrialTask {
 public:
  explicit UnusedTrial(const Trial& trial) : TrialTask(trial) {
    model_.parameters = {{"used", at::ones({3, 5}, at::kDouble).requires_grad_(), 0},
                         {"forgotten", at::ones({7}, at::kDouble).requires_grad_(), 0}};
  }
  Model& model() override { return model_; }
  at::Tensor loss(const at::Tensor&, const StepPlace&) override { return model_.parameters[0].tensor.square().sum(); }

 private:
  Model model_;
};

}  // namespace

std::unique_ptr<Task> make_trial_task(const Trial& trial) {
  if (trial.model.rfind("bert", 0) == 0) return std::make_unique<BertTrial>(trial);
  if (trial.model == "chain") return std::make_unique<ChainTrial>(trial);
  if (trial.model == "unused") return std::make_unique<UnusedTrial>(trial);
  Settings settings;
  settings.data = mnist_folder();
  settings.train_share = 0.1;
  settings.precision = trial.single ? Precision::fp32 : Precision::fp64;
  settings.task = "mnist_rnn";
  settings.own<MnistSettings>().batch_norm = trial.model == "mnist_rnn_batch_norm";
  settings.dropout = trial.dropout ? 1 : 0;
  settings.own<MnistSettings>().hidden = 20;
  return make_task(settings);
}

}  // namespace hpcbench::train
