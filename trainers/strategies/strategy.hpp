#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "core/world.hpp"
#include "optim/optimizer.hpp"
#include "tasks/model.hpp"

namespace hpcbench::train {

class Group;

/// A wrong turn that tests ask for, to prove that they would notice it. No setting reaches it.
enum class Mutation { none, skip_division_by_world_size };

struct StrategyContext {
  OptimizerOptions optimizer;
  double bucket_cap_mb = 25;
  Group* group = nullptr;  // null for a strategy of one process
  Mutation mutation = Mutation::none;
};

/// How training is spread over processes. A strategy knows nothing of tasks: it gets a model, and losses to be computed.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Makes the model equal on all ranks, and whatever is needed to train it. Collective, once.
  virtual void prepare(Model& model) = 0;
  /// Computes `loss` and its gradients, averaged over ranks; returns this rank's own loss. Collective.
  virtual double forward_backward(const std::function<at::Tensor()>& loss) = 0;
  /// Updates the parameters. Collective.
  virtual void optimizer_step(double lr) = 0;
  /// All parameters, then all buffers, whole, on every rank. Collective.
  virtual std::vector<NamedTensor> gather_full_state() = 0;
  /// Adds the values up over all ranks, in place. Collective.
  virtual void sum_over_ranks(std::vector<double>& values) = 0;
  /// Waits until all ranks are here. Collective.
  virtual void barrier() = 0;
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
std::unique_ptr<Strategy> make_ddp(const StrategyContext& context);

}  // namespace hpcbench::train
