#pragma once

#include <optional>
#include <vector>

#include "strategies/device_clock.hpp"
#include "strategies/gradient_hooks.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Common part of baseline, dp and ddp: this process holds the whole model, its gradients and the optimiser's state.
class ReplicatedStrategy : public Strategy {
 public:
  explicit ReplicatedStrategy(const StrategyContext& context) : context_(context) {}

  std::optional<Reading> optimizer_step(double lr) override;
  void catch_up() final { optimizer_->catch_up(); }
  std::vector<NamedTensor> gather_gradients() final;
  std::vector<NamedTensor> state_layout() const final;
  std::vector<NamedTensor> optimizer_layout() const final;
  void visit_state(const TakeTensor& take) override;
  void visit_optimizer_state(const TakeTensor& take) final;
  /// Returns the whole states on the first rank, nullopt on others.
  std::optional<StateShard> own_shard() final;
  std::int64_t optimizer_steps() const final { return optimizer_->steps(); }
  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override;
  StrategyStatistics statistics() final;

 protected:
  /// Stores the trainee and returns its model; begins prepare().
  Model& take(Trainee& trainee);
  at::Tensor loss_of(const MicroBatch& batch) const { return trainee_->loss(batch.samples, batch.place); }
  /// Makes the optimiser, and counts the memory of it and the model.
  void make_optimizer(Model& model);

  StrategyContext context_;
  Trainee* trainee_ = nullptr;  // set by prepare(), like its model and the optimiser
  Model* model_ = nullptr;
  std::optional<Optimizer> optimizer_;
  StrategyStatistics statistics_;
  DeviceClock clock_{*context_.device};
};

}  // namespace hpcbench::train
