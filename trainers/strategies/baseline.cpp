#include "strategies/exchange.hpp"
#include "strategies/measures.hpp"
#include "strategies/replicated_strategy.hpp"

namespace hpcbench::train {

namespace {

/// One process, no communication: what every other strategy is compared with. Gradients are the tensors that backward made.
class Baseline final : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;

  void prepare(Trainee& trainee) override {
    Model& model = take(trainee);
    // Every gradient comes from this process's own passes.
    for (NamedTensor& parameter : model.parameters) {
      if (parameter.touched) parameter.touched->trust();
    }
    make_optimizer(model);
    counted_.assign(model.parameters.size(), 0);
    gradient_hooks_.emplace(model, [this](std::size_t parameter) { count_gradient(parameter); });
  }

  std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    forget_gradients();
    const ScopedTimer watch(statistics_, clock_);
    std::vector<Reading> losses;
    for (const MicroBatch& batch : batches) {
      const at::Tensor value = loss_of(batch);
      (batch.scale == 1 ? value : value * batch.scale).backward();
      losses.push_back(optimizer_->heed(value));
    }
    return losses;
  }

  void sum_over_ranks(std::vector<double>&) override { context_.device->synchronise(); }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override { context_.device->synchronise(); }

 private:
  void count_gradient(std::size_t parameter) {
    if (counted_[parameter]) return;
    counted_[parameter] = 1;
    statistics_.memory.add(Held::gradients, bytes_of_elements(model_->parameters[parameter].tensor));
  }

  void forget_gradients() {
    counted_.assign(counted_.size(), 0);
    statistics_.memory.remove(Held::gradients, statistics_.memory.now(Held::gradients));
  }

  std::optional<GradientHooks> gradient_hooks_;
  std::vector<char> counted_;  // by parameter: its gradient is held
};

}  // namespace

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context) { return std::make_unique<Baseline>(context); }

}  // namespace hpcbench::train
