#include "base/error.hpp"
#include "base/text.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

std::vector<NamedTensor> Strategy::gather_full_state() {
  std::vector<NamedTensor> state(state_layout().size());
  visit_state([&](std::size_t index, const NamedTensor& tensor) { state[index] = tensor; });
  return state;
}

std::vector<NamedTensor> Strategy::gather_optimizer_state() {
  std::vector<NamedTensor> state(optimizer_layout().size());
  visit_optimizer_state([&](std::size_t index, const NamedTensor& tensor) { state[index] = tensor; });
  return state;
}

const std::vector<StrategyRow>& strategy_rows() {
  static const std::vector<StrategyRow> kRows = {
      {"baseline", false, make_baseline}, {"dp", false, make_dp},      {"ddp", true, make_ddp},
      {"fsdp", true, make_fsdp},          {"zero1", true, make_zero1}, {"zero2", true, make_zero2},
      {"deepspeed", true, make_zero2},
  };
  return kRows;
}

const StrategyRow& find_strategy(const std::string& name, const World& world) {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_rows()) {
    names.emplace_back(row.name);
    if (name != row.name) continue;
    if (!row.several_processes && world.size > 1) {
      throw InputError(concat("error: the strategy ", name, " trains in one process, but WORLD_SIZE is ", world.size,
                              ": start one process, or choose ddp"));
    }
    return row;
  }
  throw InputError(
      concat("error: there is no strategy `", name, "`", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

}  // namespace hpcbench::train
