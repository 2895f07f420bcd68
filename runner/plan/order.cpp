#include <algorithm>

#include "base/shuffle.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

namespace {

void append_run(std::vector<PlannedRun>& runs, const Plan& plan, std::size_t configuration, int repeat) {
  for (int warmup = 1; repeat == 1 && warmup <= plan.warmups; ++warmup)
    runs.push_back({configuration, {RunKind::warmup, warmup}, repeat});
  const RunKind kind = plan.configurations[configuration].makes ? RunKind::preparation : RunKind::repeat;
  runs.push_back({configuration, {kind, repeat}, repeat});
}

}  // namespace

std::vector<PlannedRun> runs_in_order(const Plan& plan) {
  const std::size_t count = plan.configurations.size();
  std::vector<PlannedRun> runs;
  runs.reserve(count * static_cast<std::size_t>(plan.repeats + plan.warmups));
  if (plan.order == Order::sequential) {
    for (std::size_t configuration = 0; configuration < count; ++configuration) {
      for (int repeat = 1; repeat <= plan.repeats; ++repeat) append_run(runs, plan, configuration, repeat);
    }
    return runs;
  }
  for (int repeat = 1; repeat <= plan.repeats; ++repeat) {
    for (const std::size_t configuration : shuffled(count, plan.order_seed, static_cast<std::uint64_t>(repeat)))
      append_run(runs, plan, configuration, repeat);
  }
  return runs;
}

std::optional<double> hours_at_most(const Plan& plan, CostUnit unit) {
  double seconds = 0;
  for (const Configuration& configuration : plan.configurations) {
    const std::optional<double>& time_s = configuration.work->resources.time_s;
    if (!time_s) return std::nullopt;
    seconds += configuration.hourly_cost(unit) * *time_s * (plan.repeats + plan.warmups);
  }
  return seconds / 3600;
}

long long run_seed(const Experiment& experiment, RunName name) {
  return experiment.seed + (experiment.seed_per_repeat ? name.number : 0);
}

}  // namespace hpcbench
