#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/world.hpp"
#include "devices/device.hpp"
#include "optim/optimizer.hpp"
#include "optim/reading.hpp"
#include "optim/trainee.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

class Group;

struct StrategyContext {
  OptimizerOptions optimizer;
  Settings settings = {};  // a strategy reads its own: bucket_cap_mb, flavour, wrap, devices ...
  Group* group = nullptr;  // null for a strategy of one process
  const Device* device = &cpu_device();
};

/// One of the forward and backward passes of an optimiser step: the gradient of `scale` times its loss is added up.
struct MicroBatch {
  at::Tensor samples;
  StepPlace place;
  double scale = 1;
};

/// Takes a tensor of a state, by its number in the state.
using TakeTensor = std::function<void(std::size_t index, const NamedTensor& tensor)>;

/// A part of a tensor of a state, by its number in the state: the elements from `begin` on, in a row.
struct StatePiece {
  std::size_t index = 0;
  std::int64_t begin = 0;
  at::Tensor values;
};

/// What one rank keeps of the two states: number `number` of `of` shards, which together hold each element once.
struct StateShard {
  int number = 0;
  int of = 1;
  std::vector<StatePiece> model;
  std::vector<StatePiece> optimizer;
};

/// How training is spread over processes. A strategy knows nothing of tasks: it gets a model with its loss, and samples.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Makes the model equal on all ranks, and whatever is needed to train it. `trainee` must outlive the strategy. Collective,
  /// once.
  virtual void prepare(Trainee& trainee) = 0;
  /// Computes the losses and the gradients of their scaled sum, averaged over ranks; returns this rank's own losses, not
  /// scaled. A strategy that holds whole gradients exchanges them in the last micro-batch only. Collective.
  virtual std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) = 0;
  /// Updates the parameters; returns the gradient's norm where it is clipped (of the average, before). Collective.
  virtual std::optional<Reading> optimizer_step(double lr) = 0;
  /// Makes updates that were put off until somebody reads what they change (Optimizer::catch_up()).
  virtual void catch_up() {}
  /// The averaged gradients of the parameters before clipping, whole, on every rank. Collective.
  virtual std::vector<NamedTensor> gather_gradients() = 0;
  /// Around an evaluation, in which ranks may make different numbers of forward passes. Collective.
  virtual void begin_evaluation() {}
  virtual void end_evaluation() {}
  /// Name, sizes and type of all parameters, then all buffers; and of the optimiser's state (Optimizer::state()). Their values
  /// may be away.
  virtual std::vector<NamedTensor> state_layout() const = 0;
  virtual std::vector<NamedTensor> optimizer_layout() const = 0;
  /// Hands over each tensor of these states, whole, on every rank, in an order of the strategy's own. What is made whole for it
  /// is one unit at a time, held only as long as `take` keeps its tensors. Collective.
  virtual void visit_state(const TakeTensor& take) = 0;
  virtual void visit_optimizer_state(const TakeTensor& take) = 0;
  /// The part of both states that is this rank's to keep, where it lies: nothing is made whole, nothing exchanged. Absent where
  /// another rank's shard has all that this one holds.
  virtual std::optional<StateShard> own_shard() = 0;
  /// All at once, in the order of the layouts. Collective.
  std::vector<NamedTensor> gather_full_state();
  std::vector<NamedTensor> gather_optimizer_state();
  virtual std::int64_t optimizer_steps() const = 0;
  /// Takes over the two states of an earlier run, in their order; the same on all ranks. Collective.
  virtual void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                          std::int64_t optimizer_steps) = 0;
  /// Adds the values up over all ranks, in place. Collective.
  virtual void sum_over_ranks(std::vector<double>& values) = 0;
  /// What all ranks gave, in their order. Collective.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Whether a rank said yes: alone at once, among several in the call before this one (the first time none has). They exchange
  /// `own` while each goes on, so nobody waits for a device, and for another rank only where it is a call behind. Collective.
  virtual bool any_rank(bool own) { return own; }
  /// Waits until all ranks are here. Collective.
  virtual void barrier() = 0;
  /// What was sent and held, as far as the strategy measures it. Waits for the device.
  virtual StrategyStatistics statistics() { return {}; }
};

/// One row of the table of strategies: adding one is one file and one row.
struct StrategyRow {
  const char* name;
  bool several_processes;
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context);
};
const std::vector<StrategyRow>& strategy_rows();

/// InputError with the list of those there are, or where a strategy of one process meets several.
const StrategyRow& find_strategy(const std::string& name, const World& world);

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context);
std::unique_ptr<Strategy> make_dp(const StrategyContext& context);
std::unique_ptr<Strategy> make_ddp(const StrategyContext& context);
std::unique_ptr<Strategy> make_zero1(const StrategyContext& context);
std::unique_ptr<Strategy> make_zero2(const StrategyContext& context);
std::unique_ptr<Strategy> make_fsdp(const StrategyContext& context);

}  // namespace hpcbench::train
