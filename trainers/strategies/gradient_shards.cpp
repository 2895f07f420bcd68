#include "strategies/gradient_shards.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "strategies/gradient_hooks.hpp"

namespace hpcbench::train {

namespace {

/// Gaps between and behind the members are sent and summed, too.
void clear_gaps(const at::Tensor& flat, const FlatUnit& unit, const std::vector<NamedTensor>& parameters) {
  for (std::size_t place = 0; place < unit.members.size(); ++place) {
    const std::int64_t begin = unit.offsets[place] + parameters[unit.members[place]].tensor.numel();
    const std::int64_t end = place + 1 < unit.members.size() ? unit.offsets[place + 1] : unit.size;
    if (begin < end) flat.narrow(0, begin, end - begin).zero_();
  }
}

}  // namespace

GradientShards::GradientShards(Model& model, const std::vector<FlatUnit>& units, Exchange& exchange,
                               StrategyStatistics& statistics, const GradientOptions& options, const Group& group)
    : model_(model),
      units_(units),
      exchange_(exchange),
      statistics_(statistics),
      options_(options),
      ranks_(group.size()),
      state_(units.size()) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions type = model.parameters.front().tensor.options().requires_grad(false);
  for (int buffer = 0; buffer < 2 && options_.preallocated_elements > 0; ++buffer) {
    std::int64_t elements = options_.preallocated_elements;
    for (const FlatUnit& unit : units) elements = std::max(elements, unit.size);
    preallocated_.push_back(at::empty({elements}, type));
    statistics_.memory.add(Held::gradients, bytes_of_elements(preallocated_.back()));
  }
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    state_[unit].arrived.resize(units[unit].members.size());
    if (options_.whole) {
      hold(unit);
      shards_.push_back(exchange_.own_chunk(state_[unit].flat));
    } else {
      shards_.push_back(at::zeros({units[unit].chunk}, type));
      statistics_.memory.add(Held::gradients, bytes_of_elements(shards_.back()));
    }
    for (std::size_t place = 0; place < units[unit].members.size(); ++place) {
      auto accumulator = torch::autograd::impl::grad_accumulator(model.parameters[units[unit].members[place]].tensor);
      using torch::autograd::variable_list;
      accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
          [this, unit, place](const variable_list& outputs, const variable_list&) {
            take(unit, place);
            return outputs;
          }));
      accumulators_.push_back(std::move(accumulator));
    }
  }
}

void GradientShards::begin_backward(bool first_of_step, bool last_of_step) {
  first_ = first_of_step;
  last_ = last_of_step;
  for (UnitGradients& unit : state_) {
    unit.arrived.assign(unit.arrived.size(), 0);
    unit.missing = unit.arrived.size();
  }
}

void GradientShards::hold(std::size_t unit) {
  UnitGradients& state = state_[unit];
  if (state.flat.defined()) return;
  const at::TensorOptions type = model_.parameters.front().tensor.options().requires_grad(false);
  if (preallocated_.empty()) {
    statistics_.memory.add(Held::gradients, units_[unit].size * static_cast<std::int64_t>(type.dtype().itemsize()));
    state.flat = at::empty({units_[unit].size}, type);
  } else {
    state.flat = preallocated_[unit % preallocated_.size()].narrow(0, 0, units_[unit].size);
  }
  clear_gaps(state.flat, units_[unit], model_.parameters);
}

void GradientShards::take(std::size_t unit, std::size_t place) {
  const at::NoGradGuard no_grad;
  UnitGradients& state = state_[unit];
  at::Tensor& parameter = model_.parameters[units_[unit].members[place]].tensor;
  hold(unit);
  at::Tensor view = member_view(state.flat, units_[unit], place, model_.parameters);
  // If the whole gradient stays, several micro-batches are summed here.
  if (state.arrived[place] || (options_.whole && !first_)) {
    view.add_(parameter.grad());
  } else {
    view.copy_(parameter.grad());
  }
  parameter.mutable_grad().reset();
  if (!state.arrived[place]) --state.missing;
  state.arrived[place] = 1;
  statistics_.last_step.push_back({"gradient", static_cast<int>(unit)});
  if (state.missing == 0) complete(unit);
}

void GradientShards::complete(std::size_t unit) {
  if (unit_complete) unit_complete(unit);
  if (options_.whole && !last_) return;
  finish_sum();
  begin_sum(unit);
  if (!options_.overlap) finish_sum();
}

void GradientShards::begin_sum(std::size_t unit) {
  statistics_.last_step.push_back({"sum", static_cast<int>(unit)});
  summing_ = unit;
  sum_ = exchange_.begin_sum(state_[unit].flat, static_cast<int>(unit) * 2);
}

void GradientShards::finish_sum() {
  if (!sum_.is_open()) return;
  UnitGradients& state = state_[summing_];
  at::Tensor own = exchange_.own_chunk(state.flat);
  exchange_.finish_sum(sum_, 1.0 / ranks_);
  statistics_.last_step.push_back({"sum-done", static_cast<int>(summing_)});
  if (options_.whole) return;
  if (first_) {
    shards_[summing_].copy_(own);
  } else {
    shards_[summing_].add_(own);
  }
  const std::int64_t bytes = bytes_of_elements(state.flat);
  own.reset();
  state.flat.reset();
  if (preallocated_.empty()) statistics_.memory.remove(Held::gradients, bytes);
}

void GradientShards::end_backward() {
  const at::NoGradGuard no_grad;
  std::vector<std::string> unused;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t place = 0; place < units_[unit].members.size(); ++place) {
      if (!state_[unit].arrived[place]) unused.push_back(model_.parameters[units_[unit].members[place]].name);
    }
  }
  refuse_unused(unused);
  finish_sum();
}

}  // namespace hpcbench::train
