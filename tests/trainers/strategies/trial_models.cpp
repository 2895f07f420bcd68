#include "trainers/strategies/trial_models.hpp"

#include "tasks/bert_squad/bert.hpp"
#include "trainers/ranks.hpp"

namespace hpcbench::train {

namespace {

/// The parts of a task that trials do not use.
class TrialTask : public Task {
 public:
  void load() override {}
  std::vector<Note> notes() const override { return {}; }
  std::int64_t train_samples() const override { return 1 << 20; }
  std::int64_t validation_samples() const override { return 0; }
  std::vector<Measure> evaluate(std::int64_t, std::int64_t) override { return {}; }
};

/// A number that looks drawn: splitmix64.
std::uint64_t drawn(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

class BertTrial final : public TrialTask {
 public:
  explicit BertTrial(const Trial& trial) : dropout_(trial.dropout) {
    const bool wide = trial.model == "bert_wide";
    config_.num_hidden_layers = wide ? 3 : kTrialBertLayers;
    config_.hidden_size = wide ? 64 : 32;
    config_.num_attention_heads = 2;
    config_.intermediate_size = 2 * config_.hidden_size;
    config_.vocab_size = wide ? 301 : 61;
    config_.max_position_embeddings = 40;
    config_.initializer_range = 0.1;
    bert_ = std::make_unique<Bert>(config_, BertOptions{trial.single ? at::kFloat : at::kDouble}, 7);
  }
  Model& model() override { return bert_->model(); }

  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override {
    constexpr std::int64_t kLength = 12;
    const std::int64_t rows = samples.size(0);
    BertBatch batch{at::empty({rows * kLength}, at::kLong), at::empty({rows * kLength}, at::kLong), {0}, {}, {}, {}, {}};
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

class UnusedTrial final : public TrialTask {
 public:
  UnusedTrial() {
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
  if (trial.model == "unused") return std::make_unique<UnusedTrial>();
  Settings settings;
  settings.data = mnist_folder();
  settings.train_share = 0.1;
  settings.precision = trial.single ? Precision::fp32 : Precision::fp64;
  settings.batch_norm = trial.model == "mnist_rnn_batch_norm";
  settings.dropout = trial.dropout ? 1 : 0;
  settings.hidden = 20;
  return make_task(settings);
}

}  // namespace hpcbench::train
