#pragma once

#include <optional>
#include <vector>

#include "strategies/gradient_hooks.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// What baseline, dp and ddp share: this process holds the whole model, its gradients and the optimiser's state.
class ReplicatedStrategy : public Strategy {
 public:
  explicit ReplicatedStrategy(const StrategyContext& context) : context_(context) {}

  std::optional<Reading> optimizer_step(double lr) override;
  void add_wait(double seconds) final { statistics_.step_s += seconds; }
  void catch_up() final { optimizer_->catch_up(); }
  std::vector<NamedTensor> gather_gradients() final;
  std::vector<NamedTensor> gather_full_state() override;
  std::vector<NamedTensor> gather_optimizer_state() final { return optimizer_->state(); }
  std::int64_t optimizer_steps() const final { return optimizer_->steps(); }
  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override;
  StrategyStatistics statistics() const final { return statistics_; }

 protected:
  /// Makes the optimiser, and counts what it and the model hold.
  void make_optimizer(Model& model);

  StrategyContext context_;
  Model* model_ = nullptr;  // set by prepare(), as the optimiser is
  std::optional<Optimizer> optimizer_;
  StrategyStatistics statistics_;
};

}  // namespace hpcbench::train
