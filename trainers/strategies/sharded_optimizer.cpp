#include "strategies/sharded_optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "strategies/measures.hpp"

namespace hpcbench::train {

ShardedOptimizer::ShardedOptimizer(const OptimizerOptions& options, const Model& model, const std::vector<FlatUnit>& units,
                                   const std::vector<at::Tensor>& shards, const std::vector<at::Tensor>& gradients,
                                   Group& group, Traffic& traffic, DeviceClock& clock)
    : options_(options), model_(model), units_(units), group_(group), traffic_(traffic), clock_(clock) {
  const at::NoGradGuard no_grad;
  type_ = shards.front().options();
  std::vector<NamedTensor> parts;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (const ShardPiece& piece : pieces_of(units[unit], group.shards().rank, model.parameters)) {
      const NamedTensor& parameter = model.parameters[piece.parameter];
      // The dimensions of a parameter decide on weight decay: a piece has one or two, like its parameter.
      const std::vector<std::int64_t> sizes =
          parameter.tensor.dim() > 1 ? std::vector<std::int64_t>{1, piece.count} : std::vector<std::int64_t>{piece.count};
      at::Tensor part = shards[unit].narrow(0, piece.in_chunk, piece.count).view(sizes).detach();
      part.mutable_grad() = gradients[unit].narrow(0, piece.in_chunk, piece.count).view(sizes);
      parts.push_back({parameter.name, part});
      placed_.push_back({unit, piece});
    }
  }
  optimizer_.emplace(options, parts);
}

std::optional<Reading> ShardedOptimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  ++steps_;
  if (options_.clip <= 0) {
    optimizer_->step(lr);
    return std::nullopt;
  }
  const Reading norm = whole_norm();
  optimizer_->step(lr, norm);
  return norm;
}

/// On a GPU the squares are summed there.
Reading ShardedOptimizer::whole_norm() {
  const Reading own = optimizer_->gradient_norm();
  const at::Tensor squares =
      own.is_there() ? own.there().square().view({1}) : at::full({1}, own.read() * own.read(), type_.dtype(at::kDouble));
  if (group_.size() > 1) {
    const DeviceClock::Stretch watch(clock_, traffic_.exposed_s);
    group_.sum_over_shards(squares);
  }
  if (squares.is_cpu()) return std::sqrt(squares.item<double>());
  return Reading(squares.sqrt().squeeze(0));
}

at::Tensor ShardedOptimizer::whole_state(std::size_t unit, std::size_t which, Exchange& exchange) const {
  const at::Tensor whole = at::zeros({units_[unit].size}, type_);
  at::Tensor chunk = exchange.own_chunk(whole);
  const std::vector<NamedTensor> state = optimizer_->state();
  for (std::size_t index = 0; index < placed_.size(); ++index) {
    if (placed_[index].unit != unit) continue;
    const ShardPiece& piece = placed_[index].piece;
    chunk.narrow(0, piece.in_chunk, piece.count).copy_(state[index * states_per_parameter() + which].tensor.view({-1}));
  }
  Exchange::Pending pending = exchange.begin_gather(whole, 0);
  exchange.finish_gather(pending);
  return whole;
}

void ShardedOptimizer::visit_state(Exchange& exchange, const TakeTensor& take) const {
  const at::NoGradGuard no_grad;
  const std::size_t each = states_per_parameter();
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t which = 0; which < each; ++which) {
      const at::Tensor whole = whole_state(unit, which, exchange);
      for (std::size_t place = 0; place < units_[unit].members.size(); ++place) {
        const std::size_t parameter = units_[unit].members[place];
        take(parameter * each + which, {(which == 0 ? "first/" : "second/") + model_.parameters[parameter].name,
                                        member_view(whole, units_[unit], place, model_.parameters)});
      }
    }
  }
}

std::vector<StatePiece> ShardedOptimizer::own_pieces() const {
  const std::vector<NamedTensor> state = optimizer_->state();
  const std::size_t each = states_per_parameter();
  std::vector<StatePiece> pieces;
  for (std::size_t index = 0; index < state.size(); ++index) {
    const ShardPiece& piece = placed_[index / each].piece;
    pieces.push_back({piece.parameter * each + index % each, piece.in_parameter, state[index].tensor.view({-1})});
  }
  return pieces;
}

void ShardedOptimizer::load_state(const std::vector<NamedTensor>& state, std::int64_t steps) {
  const at::NoGradGuard no_grad;
  const std::size_t each = states_per_parameter();
  TORCH_CHECK(state.size() == model_.parameters.size() * each, "an optimiser's state of ", model_.parameters.size() * each,
              " tensors, not ", state.size());
  std::vector<NamedTensor> own = optimizer_->state();
  for (std::size_t index = 0; index < placed_.size(); ++index) {
    const ShardPiece& piece = placed_[index].piece;
    for (std::size_t which = 0; which < each; ++which) {
      NamedTensor& part = own[index * each + which];
      const NamedTensor& given = state[piece.parameter * each + which];
      TORCH_CHECK(part.name == given.name, part.name, " is needed, not ", given.name);
      part.tensor = given.tensor.reshape({-1}).narrow(0, piece.in_parameter, piece.count).view(part.tensor.sizes());
    }
  }
  optimizer_->load_state(own, steps);
  steps_ = steps;
}

std::int64_t ShardedOptimizer::state_bytes() const {
  std::int64_t bytes = 0;
  for (const NamedTensor& each : optimizer_->state()) bytes += bytes_of_elements(each.tensor);
  return bytes;
}

}  // namespace hpcbench::train
