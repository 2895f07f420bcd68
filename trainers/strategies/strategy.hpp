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
#include "optim/model.hpp"
#include "optim/optimizer.hpp"
#include "optim/reading.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

class Group;

struct StrategyContext {
  OptimizerOptions optimizer;
  double bucket_cap_mb = 25;
  Flavour flavour = Flavour::tuned;
  FsdpWrap wrap = FsdpWrap::layers;
  bool reshard_after_forward = true;  // fsdp: free a unit between its forward and its backward pass
  Group* group = nullptr;             // null for a strategy of one process
  const Device* device = &cpu_device();
  std::vector<Model*> replicas = {};  // dp: the models of the devices but the first
};

/// One of the forward and backward passes of an optimiser step: the gradient of `scale` times its loss is added up.
struct MicroBatch {
  std::function<at::Tensor()> loss;
  double scale = 1;
  // For a strategy with several devices in one process: how many samples there are, and the mean loss of some of them.
  std::int64_t samples = 0;
  std::function<at::Tensor(std::size_t replica, std::int64_t first, std::int64_t count)> part = {};
};

/// How training is spread over processes. A strategy knows nothing of tasks: it gets a model, and losses to be computed.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Makes the model equal on all ranks, and whatever is needed to train it. Collective, once.
  virtual void prepare(Model& model) = 0;
  /// Computes the losses and the gradients of their scaled sum, averaged over ranks; returns this rank's own losses, not
  /// scaled. A strategy that holds whole gradients exchanges them in the last micro-batch only. Collective.
  virtual std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) = 0;
  /// Updates the parameters; returns the gradient's norm where it is clipped (of the average, before). Collective.
  virtual std::optional<Reading> optimizer_step(double lr) = 0;
  /// Says that the host has waited for what earlier steps computed: the seconds are theirs.
  virtual void add_wait(double /*seconds*/) {}
  /// Makes updates that were put off until somebody reads what they change (Optimizer::catch_up()).
  virtual void catch_up() {}
  /// The averaged gradients of the parameters before clipping, whole, on every rank. Collective.
  virtual std::vector<NamedTensor> gather_gradients() = 0;
  /// Around an evaluation, in which ranks may make different numbers of forward passes. Collective.
  virtual void begin_evaluation() {}
  virtual void end_evaluation() {}
  /// All parameters, then all buffers, whole, on every rank. Collective.
  virtual std::vector<NamedTensor> gather_full_state() = 0;
  /// The optimiser's state, whole, on every rank, and the steps that it has made (Optimizer::state()). Collective.
  virtual std::vector<NamedTensor> gather_optimizer_state() = 0;
  virtual std::int64_t optimizer_steps() const = 0;
  /// Takes over what the two gave in an earlier run, in their order; the same on all ranks. Collective.
  virtual void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                          std::int64_t optimizer_steps) = 0;
  /// Adds the values up over all ranks, in place. Collective.
  virtual void sum_over_ranks(std::vector<double>& values) = 0;
  /// What all ranks gave, in their order. Collective.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;
  /// Waits until all ranks are here. Collective.
  virtual void barrier() = 0;
  /// What was sent and held, as far as the strategy measures it.
  virtual StrategyStatistics statistics() const { return {}; }
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
