#include <ATen/ops/item.h>

#include "strategies/strategy.hpp"

namespace hpcbench::train {

namespace {

/// One process, no communication: what every other strategy is compared with.
class Baseline final : public Strategy {
 public:
  explicit Baseline(const StrategyContext& context) : context_(context) {}

  void prepare(Model& model) override {
    model_ = &model;
    optimizer_.emplace(context_.optimizer, model.parameters);
  }

  std::vector<double> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    std::vector<double> losses;
    for (const MicroBatch& batch : batches) {
      const at::Tensor value = batch.loss();
      (batch.scale == 1 ? value : value * batch.scale).backward();
      losses.push_back(value.item<double>());
    }
    return losses;
  }

  std::optional<double> optimizer_step(double lr) override { return optimizer_->step(lr); }

  StrategyStatistics statistics() const override { return plain_statistics(*model_, *optimizer_); }

  std::vector<NamedTensor> gather_gradients() override { return gradients_of(*model_); }

  std::vector<NamedTensor> gather_full_state() override {
    std::vector<NamedTensor> state = model_->parameters;
    state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
    return state;
  }

  std::vector<NamedTensor> gather_optimizer_state() override { return optimizer_->state(); }
  std::int64_t optimizer_steps() const override { return optimizer_->steps(); }

  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override {
    copy_into_model(*model_, model);
    optimizer_->load_state(optimizer, optimizer_steps);
  }

  void sum_over_ranks(std::vector<double>&) override {}
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override {}

 private:
  StrategyContext context_;
  Model* model_ = nullptr;
  std::optional<Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context) { return std::make_unique<Baseline>(context); }

}  // namespace hpcbench::train
