#include <ATen/core/grad_mode.h>

#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

const std::vector<StrategyRow>& strategy_rows() {
  static const std::vector<StrategyRow> rows = {
      {"baseline", false, make_baseline}, {"dp", false, make_dp},      {"ddp", true, make_ddp},
      {"fsdp", true, make_fsdp},          {"zero1", true, make_zero1}, {"zero2", true, make_zero2},
      {"deepspeed", true, make_zero2},
  };
  return rows;
}

const StrategyRow& find_strategy(const std::string& name, const World& world) {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_rows()) {
    names.emplace_back(row.name);
    if (name != row.name) continue;
    if (!row.several_processes && world.size > 1)
      throw InputError(concat("error: the strategy ", name, " trains in one process, but WORLD_SIZE is ", world.size,
                              ": start one process, or choose ddp"));
    return row;
  }
  throw InputError(
      concat("error: there is no strategy `", name, "`", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

StrategyStatistics plain_statistics(const Model& model, const Optimizer& optimizer) {
  StrategyStatistics statistics;
  statistics.measured = true;
  statistics.steps = optimizer.steps();
  std::set<const void*> seen;
  const auto add = [&](Held kind, const at::Tensor& tensor) {
    if (!tensor.defined() || !seen.insert(tensor.storage().unsafeGetStorageImpl()).second) return;
    statistics.memory.add(kind, static_cast<std::int64_t>(tensor.storage().nbytes()));
  };
  for (const NamedTensor& parameter : model.parameters) {
    add(Held::parameters, parameter.tensor);
    add(Held::gradients, parameter.tensor.grad());
  }
  for (const NamedTensor& state : optimizer.state()) add(Held::optimizer, state.tensor);
  return statistics;
}

std::vector<NamedTensor> gradients_of(const Model& model) {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& parameter : model.parameters) gradients.push_back({parameter.name, parameter.tensor.grad()});
  return gradients;
}

void copy_into_model(Model& model, const std::vector<NamedTensor>& values) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(values.size() == model.parameters.size() + model.buffers.size(), "another number of tensors than the model's");
  std::size_t index = 0;
  for (std::vector<NamedTensor>* own : {&model.parameters, &model.buffers}) {
    for (NamedTensor& each : *own) each.tensor.copy_(values[index++].tensor);
  }
}

}  // namespace hpcbench::train
