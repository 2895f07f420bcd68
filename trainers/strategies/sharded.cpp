#include "strategies/sharded.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "strategies/equal_ranks.hpp"
#include "strategies/measures.hpp"

namespace hpcbench::train {

Sharded::Sharded(const StrategyContext& context)
    : context_(context),
      group_(*context.group),
      own_exchange_(group_.make_exchange(statistics_.traffic, statistics_.memory)),
      exchange_(*own_exchange_) {}

void Sharded::prepare(Model& model) {
  model_ = &model;
  group_.connect();
  const at::NoGradGuard no_grad;
  require_one_type();
  joined_buffers_ = make_ranks_equal(model, group_);
  units_ = lay_out(model.parameters, groups(model), group_.size());
  place_parameters();
  gradients_.emplace(model, units_, exchange_, statistics_, gradient_options(), group_);
  gradients_->unit_complete = [this](std::size_t unit) { unit_complete(unit); };
  optimizer_.emplace(context_.optimizer, model, units_, shards_, gradients_->shards(), group_, statistics_.traffic);
  statistics_.memory.add(Held::optimizer, optimizer_->state_bytes());
  statistics_.units = static_cast<int>(units_.size());
  statistics_.measured = true;
}

void Sharded::require_one_type() const {
  for (const NamedTensor& parameter : model_->parameters) {
    TORCH_CHECK(parameter.tensor.scalar_type() == model_->parameters.front().tensor.scalar_type(),
                "parameters of several types cannot be laid into one tensor: ", parameter.name);
  }
}

at::Tensor Sharded::make_whole(std::size_t unit) const {
  return at::zeros({units_[unit].size}, model_->parameters.front().tensor.options().requires_grad(false));
}

void Sharded::move_into(const at::Tensor& whole, std::size_t unit) {
  for (std::size_t place = 0; place < units_[unit].members.size(); ++place) {
    at::Tensor& parameter = model_->parameters[units_[unit].members[place]].tensor;
    at::Tensor view = member_view(whole, units_[unit], place, model_->parameters);
    view.copy_(parameter);
    parameter.set_data(view);
  }
}

std::vector<Reading> Sharded::forward_backward(const std::vector<MicroBatch>& batches) {
  const ScopedTimer watch(statistics_);
  std::vector<Reading> losses;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    broadcast_buffers();
    begin_pass();
    const at::Tensor value = batches[index].loss();
    gradients_->begin_backward(index == 0, index + 1 == batches.size());
    (batches[index].scale == 1 ? value : value * batches[index].scale).backward();
    gradients_->end_backward();
    end_pass();
    losses.push_back(optimizer_->heed(value));
  }
  return losses;
}

std::optional<Reading> Sharded::optimizer_step(double lr) {
  const at::NoGradGuard no_grad;
  const UpdateWatch watch(statistics_);
  const std::optional<Reading> norm = optimizer_->step(lr);
  parameters_changed();
  return norm;
}

std::vector<NamedTensor> Sharded::gather_chunks(const std::vector<at::Tensor>& chunks) {
  const at::NoGradGuard no_grad;
  const Traffic before = statistics_.traffic;  // what is sent here is not the training's
  std::vector<NamedTensor> tensors(model_->parameters.size());
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const at::Tensor whole = make_whole(unit);
    exchange_.own_chunk(whole).copy_(chunks[unit]);
    Exchange::Pending pending = exchange_.begin_gather(whole, 1);
    exchange_.finish_gather(pending);
    for (std::size_t place = 0; place < units_[unit].members.size(); ++place) {
      const std::size_t parameter = units_[unit].members[place];
      tensors[parameter] = {model_->parameters[parameter].name, member_view(whole, units_[unit], place, model_->parameters),
                            model_->parameters[parameter].unit};
    }
  }
  statistics_.traffic = before;
  return tensors;
}

std::vector<NamedTensor> Sharded::gather_gradients() { return gather_chunks(gradients_->shards()); }

void Sharded::broadcast_buffers() {
  if (!joined_buffers_.defined()) return;
  const ExposedWatch watch(statistics_.traffic);
  group_.broadcast_from_first({joined_buffers_});
}

std::vector<NamedTensor> Sharded::gather_full_state() {
  broadcast_buffers();
  std::vector<NamedTensor> state = gather_chunks(shards_);
  state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
  return state;
}

std::vector<NamedTensor> Sharded::gather_optimizer_state() {
  const Traffic before = statistics_.traffic;
  std::vector<NamedTensor> state = optimizer_->gather_state(exchange_);
  statistics_.traffic = before;
  return state;
}

void Sharded::load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                         std::int64_t optimizer_steps) {
  const at::NoGradGuard no_grad;
  const std::size_t parameters = model_->parameters.size();
  TORCH_CHECK(model.size() == parameters + model_->buffers.size(), "another number of tensors than the model's");
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const ShardPiece& piece : pieces_of(units_[unit], group_.rank(), model_->parameters)) {
      const at::Tensor given = model[piece.parameter].tensor.reshape({-1}).narrow(0, piece.in_parameter, piece.count);
      shards_[unit].narrow(0, piece.in_chunk, piece.count).copy_(given);
    }
  }
  for (std::size_t index = 0; index < model_->buffers.size(); ++index)
    model_->buffers[index].tensor.copy_(model[parameters + index].tensor);
  optimizer_->load_state(optimizer, optimizer_steps);
  parameters_changed();
}

}  // namespace hpcbench::train
