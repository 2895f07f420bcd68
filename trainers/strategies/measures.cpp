#include "strategies/measures.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace hpcbench::train {

ScopedTimer::ScopedTimer(StrategyStatistics& statistics, DeviceClock& clock)
    : statistics_(statistics), unnamed_bytes_(TensorMemory::unnamed_bytes()) {
  if (statistics_.steps == 0) {
    clock.forget();
    statistics_.memory.forget_peaks();
    statistics_.traffic = {};
    statistics_.step_s = 0;
  }
  statistics_.last_step.clear();
  TensorMemory::forget_peak();
  stretch_.emplace(clock, statistics_.step_s);
}

ScopedTimer::~ScopedTimer() {
  stretch_.reset();
  statistics_.peak_activation_bytes =
      std::max(statistics_.peak_activation_bytes, TensorMemory::peak_unnamed_bytes() - unnamed_bytes_);
  const std::vector<Moment>& moments = statistics_.last_step;
  const auto first_sum = std::find_if(moments.begin(), moments.end(), [](const Moment& m) { return m.what == "sum"; });
  if (std::any_of(first_sum, moments.end(), [](const Moment& m) { return m.what == "gradient"; }))
    ++statistics_.overlapped_steps;
}

std::int64_t bytes_behind(const std::vector<at::Tensor>& tensors) {
  std::set<const void*> seen;
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || !seen.insert(tensor.storage().unsafeGetStorageImpl()).second) continue;
    bytes += static_cast<std::int64_t>(tensor.storage().nbytes());
  }
  return bytes;
}

StrategyStatistics compare_ranks(Strategy& strategy, const World& world) {
  StrategyStatistics statistics = strategy.statistics();
  std::vector<double> computed_s(static_cast<std::size_t>(world.size));
  computed_s[static_cast<std::size_t>(world.rank)] = statistics.step_s - statistics.traffic.exposed_s;
  strategy.sum_over_ranks(computed_s);
  statistics.compute_max_s = *std::max_element(computed_s.begin(), computed_s.end());
  statistics.compute_mean_s = std::accumulate(computed_s.begin(), computed_s.end(), 0.0) / static_cast<double>(world.size);
  return statistics;
}

}  // namespace hpcbench::train
