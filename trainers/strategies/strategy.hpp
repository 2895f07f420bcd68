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

/// One of the forward and backward passes of an optimiser step: the gradient of `scale` times its loss is added.
struct MicroBatch {
  at::Tensor samples;
  StepPlace place;
  double scale = 1;
};

/// Receives a tensor of a state, with its number in the state.
using TakeTensor = std::function<void(std::size_t index, const NamedTensor& tensor)>;

/// A part of a tensor of a state, by its number in the state: the elements from `begin` on, flattened.
struct StatePiece {
  std::size_t index = 0;
  std::int64_t begin = 0;
  at::Tensor values;
};

/// One rank's part of the two states: number `number` of `of` shards, which together hold each element once.
struct StateShard {
  int number = 0;
  int of = 1;
  std::vector<StatePiece> model;
  std::vector<StatePiece> optimizer;
};

/// The distribution of training over processes. A strategy knows nothing of tasks: it gets a model with its loss, and samples.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Makes the model equal on all ranks, and everything needed to train it. `trainee` must outlive the strategy. Collective,
  /// once.
  virtual void prepare(Trainee& trainee) = 0;
  /// Computes the losses and the gradients of their scaled sum, averaged over ranks; returns this rank's own losses, not
  /// scaled. A strategy that holds whole gradients exchanges them only in the last micro-batch. Collective.
  virtual std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) = 0;
  /// Updates the parameters; returns the gradient's norm if it is clipped (of the average, before clipping). Collective.
  virtual std::optional<Reading> optimizer_step(double lr) = 0;
  /// Makes postponed updates, before their results are read (Optimizer::catch_up()).
  virtual void catch_up() {}
  /// Returns the averaged gradients of the parameters before clipping, whole, on every rank. Collective.
  virtual std::vector<NamedTensor> gather_gradients() = 0;
  /// Encloses an evaluation, in which ranks may make different numbers of forward passes. Collective.
  virtual void begin_evaluation() {}
  virtual void end_evaluation() {}
  /// Returns name, sizes and type of all parameters, then all buffers; and of the optimiser's state (Optimizer::state()). Their
  /// values may be freed.
  virtual std::vector<NamedTensor> state_layout() const = 0;
  virtual std::vector<NamedTensor> optimizer_layout() const = 0;
  /// Passes each tensor of these states, whole, on every rank, in the strategy's own order. Only one unit at a time is made
  /// whole, and held only as long as `take` keeps its tensors. Collective.
  virtual void visit_state(const TakeTensor& take) = 0;
  virtual void visit_optimizer_state(const TakeTensor& take) = 0;
  /// Returns the part of both states that this rank saves, without making tensors whole or exchanging anything. nullopt if
  /// another rank's shard contains all that this one holds.
  virtual std::optional<StateShard> own_shard() = 0;
  /// Returns all tensors at once, in the order of the layouts. Collective.
  std::vector<NamedTensor> gather_full_state();
  std::vector<NamedTensor> gather_optimizer_state();
  virtual std::int64_t optimizer_steps() const = 0;
  /// Loads the two states of an earlier run, in their order; the same on all ranks. Collective.
  virtual void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                          std::int64_t optimizer_steps) = 0;
  /// Sums the values over all ranks, in place. Collective.
  virtual void sum_over_ranks(std::vector<double>& values) = 0;
  /// Returns the texts of all ranks, in their order. Collective.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Returns whether a rank passed true: alone at once, among several in the previous call (false the first time). They
  /// exchange `own` in the background, so no rank waits for a device, and for another rank only if that is a call behind.
  /// Collective.
  virtual bool any_rank(bool own) { return own; }
  /// Waits until all ranks have called it. Collective.
  virtual void barrier() = 0;
  /// Returns what was sent and held, as far as the strategy measures it. Waits for the device.
  virtual StrategyStatistics statistics() { return {}; }
};

/// One row of the table of strategies: a new one is one file and one row.
struct StrategyRow {
  const char* name;
  bool several_processes;
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context);
};
const std::vector<StrategyRow>& strategy_rows();

/// InputError with the existing names, or if a strategy of one process is used with several.
const StrategyRow& find_strategy(const std::string& name, const World& world);

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context);
std::unique_ptr<Strategy> make_dp(const StrategyContext& context);
std::unique_ptr<Strategy> make_ddp(const StrategyContext& context);
std::unique_ptr<Strategy> make_zero1(const StrategyContext& context);
std::unique_ptr<Strategy> make_zero2(const StrategyContext& context);
std::unique_ptr<Strategy> make_fsdp(const StrategyContext& context);

}  // namespace hpcbench::train
