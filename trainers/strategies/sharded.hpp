#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strategies/gradient_shards.hpp"
#include "strategies/sharded_optimizer.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Common part of zero1, zero2 and fsdp: every rank computes a share of each batch; the optimiser's state, and the gradients
/// for it, are cut into one chunk per rank. The strategy decides where the parameters are.
class Sharded : public Strategy {
 public:
  explicit Sharded(const StrategyContext& context);

  void prepare(Trainee& trainee) final;
  std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) final;
  std::optional<Reading> optimizer_step(double lr) final;
  std::vector<NamedTensor> gather_gradients() final;
  std::vector<NamedTensor> state_layout() const final;
  std::vector<NamedTensor> optimizer_layout() const final;
  void visit_state(const TakeTensor& take) final;
  void visit_optimizer_state(const TakeTensor& take) final;
  /// Returns the shard on the first replica; the buffers are in the first shard.
  std::optional<StateShard> own_shard() final;
  std::int64_t optimizer_steps() const final { return optimizer_->steps(); }
  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) final;
  void sum_over_ranks(std::vector<double>& values) final { group_.sum(values); }
  std::vector<std::string> exchange(const std::string& text) final { return group_.exchange(text); }
  bool any_rank(bool own) final { return group_.any_rank(own); }
  void barrier() final { group_.barrier(); }
  StrategyStatistics statistics() final;

 protected:
  virtual Groups groups(const Model& model) const = 0;
  virtual GradientOptions gradient_options() const = 0;
  /// Lays the parameters out in flat tensors and fills shards_.
  virtual void place_parameters() = 0;
  /// Called when the shards have new values.
  virtual void parameters_changed() {}
  virtual void begin_pass() {}  // before a forward and backward pass
  virtual void end_pass() {}
  virtual void unit_complete(std::size_t) {}  // all gradients of a unit are complete

  at::Tensor make_whole(std::size_t unit) const;  // a flat tensor of zeros
  /// Copies the unit's parameters into `whole`, and makes them views of it.
  void move_into(const at::Tensor& whole, std::size_t unit);

  StrategyContext context_;
  Group& group_;
  Trainee* trainee_ = nullptr;
  Model* model_ = nullptr;  // the trainee's
  StrategyStatistics statistics_;
  DeviceClock clock_;
  const std::unique_ptr<Exchange> own_exchange_;
  Exchange& exchange_;
  std::vector<FlatUnit> units_;
  std::vector<at::Tensor> shards_;  // this rank's chunk of each unit

 private:
  void require_one_type() const;
  void broadcast_buffers();  // running statistics are the first rank's
  /// Passes the whole parameters, or other tensors of their shapes, unit by unit to `take`; `chunks` are this rank's chunks of
  /// them.
  void visit_chunks(const std::vector<at::Tensor>& chunks, const TakeTensor& take);

  at::Tensor joined_buffers_;  // undefined without buffers
  std::optional<GradientShards> gradients_;
  std::optional<ShardedOptimizer> optimizer_;
};

}  // namespace hpcbench::train
