#include "strategies/whole_model.hpp"

#include <ATen/core/grad_mode.h>

#include <set>

namespace hpcbench::train {

std::vector<NamedTensor> WholeModel::gather_gradients() {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& parameter : model_->parameters) gradients.push_back({parameter.name, parameter.tensor.grad()});
  return gradients;
}

std::vector<NamedTensor> WholeModel::gather_full_state() {
  std::vector<NamedTensor> state = model_->parameters;
  state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
  return state;
}

void WholeModel::load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                            std::int64_t optimizer_steps) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(model.size() == model_->parameters.size() + model_->buffers.size(), "another number of tensors than the model's");
  std::size_t index = 0;
  for (std::vector<NamedTensor>* own : {&model_->parameters, &model_->buffers}) {
    for (NamedTensor& each : *own) each.tensor.copy_(model[index++].tensor);
  }
  optimizer_->load_state(optimizer, optimizer_steps);
}

StrategyStatistics WholeModel::statistics() const {
  StrategyStatistics statistics;
  statistics.measured = true;
  statistics.steps = optimizer_->steps();
  std::set<const void*> seen;
  const auto add = [&](Held kind, const at::Tensor& tensor) {
    if (!tensor.defined() || !seen.insert(tensor.storage().unsafeGetStorageImpl()).second) return;
    statistics.memory.add(kind, static_cast<std::int64_t>(tensor.storage().nbytes()));
  };
  for (const NamedTensor& parameter : model_->parameters) {
    add(Held::parameters, parameter.tensor);
    add(Held::gradients, parameter.tensor.grad());
  }
  for (const NamedTensor& state : optimizer_->state()) add(Held::optimizer, state.tensor);
  return statistics;
}

}  // namespace hpcbench::train
