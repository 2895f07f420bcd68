#pragma once

#include <optional>
#include <vector>

#include "optim/optimizer.hpp"
#include "strategies/exchange.hpp"
#include "strategies/flat_units.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// The optimiser of one rank's chunks of all units: its state is 1/N of the whole. Whole states for it and from it are those of
/// an Optimizer over the whole model, tensor for tensor.
class ShardedOptimizer {
 public:
  /// `shards` and `gradients`: this rank's chunk of each unit; they must not be replaced.
  ShardedOptimizer(const OptimizerOptions& options, const Model& model, const std::vector<FlatUnit>& units,
                   const std::vector<at::Tensor>& shards, const std::vector<at::Tensor>& gradients, Group& group,
                   Traffic& traffic, DeviceClock& clock);

  /// Updates the shards; returns the norm of the whole gradient if it is clipped. Collective.
  std::optional<Reading> step(double lr);
  Reading note_loss(const at::Tensor& loss) { return optimizer_->note_loss(loss); }
  std::int64_t steps() const { return steps_; }
  /// Passes the whole state on every rank, unit by unit (Strategy::visit_optimizer_state()). Collective.
  void visit_state(Exchange& exchange, const TakeTensor& take) const;
  /// Returns this rank's parts of the whole state, without copying.
  std::vector<StatePiece> own_pieces() const;
  /// Loads its part of a whole state.
  void load_state(const std::vector<NamedTensor>& state, std::int64_t steps);
  std::int64_t state_bytes() const;

 private:
  struct Placed {
    std::size_t unit = 0;
    ShardPiece piece;
  };
  Reading whole_norm();
  at::Tensor whole_state(std::size_t unit, std::size_t which, Exchange& exchange) const;
  std::size_t states_per_parameter() const { return options_.kind == OptimizerKind::sgd ? 1 : 2; }

  OptimizerOptions options_;
  const Model& model_;
  const std::vector<FlatUnit>& units_;
  Group& group_;
  Traffic& traffic_;  // receives the waiting times
  DeviceClock& clock_;
  std::vector<Placed> placed_;  // in the order of the optimiser's parts
  at::TensorOptions type_;
  std::optional<Optimizer> optimizer_;
  std::int64_t steps_ = 0;
};

}  // namespace hpcbench::train
