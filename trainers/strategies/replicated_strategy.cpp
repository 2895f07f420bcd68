#include "strategies/replicated_strategy.hpp"

#include <ATen/core/grad_mode.h>

#include "strategies/group.hpp"
#include "strategies/measures.hpp"

namespace hpcbench::train {

namespace {

std::vector<at::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

std::vector<StatePiece> whole_pieces(const std::vector<NamedTensor>& state) {
  std::vector<StatePiece> pieces;
  for (std::size_t index = 0; index < state.size(); ++index)
    pieces.push_back({index, 0, state[index].tensor.detach().reshape({-1})});
  return pieces;
}

}  // namespace

Model& ReplicatedStrategy::take(Trainee& trainee) {
  trainee_ = &trainee;
  model_ = &trainee.model();
  return *model_;
}

void ReplicatedStrategy::make_optimizer(Model& model) {
  optimizer_.emplace(context_.optimizer, model.parameters);
  statistics_.measured = true;
  statistics_.memory.add(Held::parameters, bytes_behind(tensors_of(model.parameters)));
  statistics_.memory.add(Held::optimizer, bytes_behind(tensors_of(optimizer_->state())));
}

std::optional<Reading> ReplicatedStrategy::optimizer_step(double lr) {
  const UpdateWatch watch(statistics_, clock_);
  return optimizer_->step(lr);
}

std::vector<NamedTensor> ReplicatedStrategy::gather_gradients() {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& parameter : model_->parameters) gradients.push_back({parameter.name, parameter.tensor.grad()});
  return gradients;
}

std::vector<NamedTensor> ReplicatedStrategy::state_layout() const {
  std::vector<NamedTensor> layout = model_->parameters;
  layout.insert(layout.end(), model_->buffers.begin(), model_->buffers.end());
  return layout;
}

std::vector<NamedTensor> ReplicatedStrategy::optimizer_layout() const {
  return optimizer_state_layout(context_.optimizer.kind, model_->parameters);
}

void ReplicatedStrategy::visit_state(const TakeTensor& take) {
  catch_up();
  const std::vector<NamedTensor> state = state_layout();
  for (std::size_t index = 0; index < state.size(); ++index) take(index, state[index]);
}

void ReplicatedStrategy::visit_optimizer_state(const TakeTensor& take) {
  const std::vector<NamedTensor> state = optimizer_->state();
  for (std::size_t index = 0; index < state.size(); ++index) take(index, state[index]);
}

std::optional<StateShard> ReplicatedStrategy::own_shard() {
  if (context_.group != nullptr && context_.group->rank() != 0) return std::nullopt;
  catch_up();
  return StateShard{0, 1, whole_pieces(state_layout()), whole_pieces(optimizer_->state())};
}

StrategyStatistics ReplicatedStrategy::statistics() {
  clock_.settle_all();
  return statistics_;
}

void ReplicatedStrategy::load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                                    std::int64_t optimizer_steps) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(model.size() == model_->parameters.size() + model_->buffers.size(), "another number of tensors than the model's");
  catch_up();
  std::size_t index = 0;
  for (std::vector<NamedTensor>* own : {&model_->parameters, &model_->buffers}) {
    for (NamedTensor& each : *own) each.tensor.copy_(model[index++].tensor);
  }
  optimizer_->load_state(optimizer, optimizer_steps);
}

}  // namespace hpcbench::train
