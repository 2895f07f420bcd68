#include "strategies/replicated_strategy.hpp"

#include <ATen/core/grad_mode.h>

#include "strategies/measures.hpp"

namespace hpcbench::train {

namespace {

std::vector<at::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

}  // namespace

void ReplicatedStrategy::make_optimizer(Model& model) {
  optimizer_.emplace(context_.optimizer, model.parameters);
  statistics_.measured = true;
  statistics_.memory.add(Held::parameters, bytes_behind(tensors_of(model.parameters)));
  statistics_.memory.add(Held::optimizer, bytes_behind(tensors_of(optimizer_->state())));
}

std::optional<Reading> ReplicatedStrategy::optimizer_step(double lr) {
  const UpdateWatch watch(statistics_);
  return optimizer_->step(lr);
}

std::vector<NamedTensor> ReplicatedStrategy::gather_gradients() {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& parameter : model_->parameters) gradients.push_back({parameter.name, parameter.tensor.grad()});
  return gradients;
}

std::vector<NamedTensor> ReplicatedStrategy::gather_full_state() {
  catch_up();
  std::vector<NamedTensor> state = model_->parameters;
  state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
  return state;
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
