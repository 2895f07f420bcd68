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
      clock_(group_.device()),
      own_exchange_(group_.make_exchange(statistics_.traffic, statistics_.memory, clock_)),
      exchange_(*own_exchange_) {}

void Sharded::prepare(Trainee& trainee) {
  trainee_ = &trainee;
  Model& model = trainee.model();
  model_ = &model;
  if (context_.settings.shard_size) group_.shard_among(*context_.settings.shard_size);
  group_.connect();
  const at::NoGradGuard no_grad;
  require_one_type();
  joined_buffers_ = make_ranks_equal(model, group_);
  units_ = lay_out(model.parameters, groups(model), group_.shards().size);
  place_parameters();
  gradients_.emplace(model, units_, exchange_, statistics_, gradient_options(), group_);
  gradients_->unit_complete = [this](std::size_t unit) { unit_complete(unit); };
  optimizer_.emplace(context_.optimizer, model, units_, shards_, gradients_->shards(), group_, statistics_.traffic, clock_);
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
  const ScopedTimer watch(statistics_, clock_);
  std::vector<Reading> losses;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    broadcast_buffers();
    begin_pass();
    const at::Tensor value = trainee_->loss(batches[index].samples, batches[index].place);
    gradients_->begin_backward(index == 0, index + 1 == batches.size());
    (batches[index].scale == 1 ? value : value * batches[index].scale).backward();
    gradients_->end_backward();
    end_pass();
    losses.push_back(optimizer_->note_loss(value));
  }
  return losses;
}

std::optional<Reading> Sharded::optimizer_step(double lr) {
  const at::NoGradGuard no_grad;
  const UpdateWatch watch(statistics_, clock_);
  const std::optional<Reading> norm = optimizer_->step(lr);
  parameters_changed();
  return norm;
}

void Sharded::visit_chunks(const std::vector<at::Tensor>& chunks, const TakeTensor& take) {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const at::Tensor whole = make_whole(unit);
    exchange_.own_chunk(whole).copy_(chunks[unit]);
    Exchange::Pending pending = exchange_.begin_gather(whole, 1);
    exchange_.finish_gather(pending);
    for (std::size_t place = 0; place < units_[unit].members.size(); ++place) {
      const std::size_t parameter = units_[unit].members[place];
      take(parameter, {model_->parameters[parameter].name, member_view(whole, units_[unit], place, model_->parameters),
                       model_->parameters[parameter].unit});
    }
  }
}

std::vector<NamedTensor> Sharded::gather_gradients() {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> gradients(model_->parameters.size());
  clock_.uncounted(statistics_.traffic, [&] {
    visit_chunks(gradients_->shards(), [&](std::size_t index, const NamedTensor& tensor) { gradients[index] = tensor; });
  });
  return gradients;
}

void Sharded::broadcast_buffers() {
  if (!joined_buffers_.defined()) return;
  const DeviceClock::Stretch watch(clock_, statistics_.traffic.exposed_s);
  group_.broadcast_from_first({joined_buffers_});
}

std::vector<NamedTensor> Sharded::state_layout() const {
  std::vector<NamedTensor> layout = model_->parameters;
  layout.insert(layout.end(), model_->buffers.begin(), model_->buffers.end());
  return layout;
}

std::vector<NamedTensor> Sharded::optimizer_layout() const {
  return optimizer_state_layout(context_.optimizer.kind, model_->parameters);
}

void Sharded::visit_state(const TakeTensor& take) {
  const at::NoGradGuard no_grad;
  clock_.uncounted(statistics_.traffic, [&] {
    broadcast_buffers();
    visit_chunks(shards_, take);
  });
  for (std::size_t index = 0; index < model_->buffers.size(); ++index)
    take(model_->parameters.size() + index, model_->buffers[index]);
}

void Sharded::visit_optimizer_state(const TakeTensor& take) {
  clock_.uncounted(statistics_.traffic, [&] { optimizer_->visit_state(exchange_, take); });
}

std::optional<StateShard> Sharded::own_shard() {
  if (group_.replicas().rank != 0) return std::nullopt;
  const at::NoGradGuard no_grad;
  StateShard shard{group_.shards().rank, group_.shards().size, {}, optimizer_->own_pieces()};
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const ShardPiece& piece : pieces_of(units_[unit], shard.number, model_->parameters))
      shard.model.push_back({piece.parameter, piece.in_parameter, shards_[unit].narrow(0, piece.in_chunk, piece.count)});
  }
  if (shard.number != 0) return shard;
  for (std::size_t index = 0; index < model_->buffers.size(); ++index)
    shard.model.push_back({model_->parameters.size() + index, 0, model_->buffers[index].tensor.reshape({-1})});
  return shard;
}

StrategyStatistics Sharded::statistics() {
  clock_.settle_all();
  return statistics_;
}

void Sharded::load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                         std::int64_t optimizer_steps) {
  const at::NoGradGuard no_grad;
  const std::size_t parameters = model_->parameters.size();
  TORCH_CHECK(model.size() == parameters + model_->buffers.size(), "another number of tensors than the model's");
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const ShardPiece& piece : pieces_of(units_[unit], group_.shards().rank, model_->parameters)) {
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
