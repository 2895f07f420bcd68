#include "plan/calibration.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

#include "base/shuffle.hpp"

namespace hpcbench {

bool alone_goes_first(const Plan& plan, int repeat) {
  constexpr std::uint64_t kPhaseStream = std::uint64_t{1} << 32U;  // no number of a repeat
  const auto pair = static_cast<std::uint64_t>((repeat - 1) / 2);
  const bool drawn = shuffled(2, plan.order_seed, kPhaseStream + pair).front() == 0;
  return drawn == (repeat % 2 == 1);
}

std::vector<std::size_t> packed_partners(const Plan& plan) {
  std::vector<std::size_t> partners(plan.configurations.size());
  std::iota(partners.begin(), partners.end(), std::size_t{0});
  const auto placement = std::find(plan.axes.begin(), plan.axes.end(), kPlacementAxis) - plan.axes.begin();
  const auto is_alone = [](const Configuration& each) { return each.alone; };
  if (std::none_of(plan.configurations.begin(), plan.configurations.end(), is_alone)) return partners;
  const auto others = [&](const Configuration& configuration) {
    std::vector<Value> values = configuration.values;
    values.erase(values.begin() + placement);
    return values;
  };
  std::map<std::vector<Value>, std::size_t> packed;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (!plan.configurations[i].alone) packed.emplace(others(plan.configurations[i]), i);
  }
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (!plan.configurations[i].alone) continue;
    const auto found = packed.find(others(plan.configurations[i]));
    if (found != packed.end()) partners[i] = found->second;
  }
  return partners;
}

}  // namespace hpcbench
