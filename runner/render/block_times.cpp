#include "render/block_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr double kQuantile = 0.9;
constexpr double kSafety = 1.5;  // times that: runs vary, and this many take longer than all that were seen
constexpr std::size_t kShownEstimates = 20;

std::string estimate_text(const Plan& plan, const Configuration& configuration, const BlockTimes& times) {
  const std::string point = plan.describe_point(configuration);
  const std::optional<double>& limit_s = configuration.work->resources.time_s;
  const std::string limit = limit_s ? human_duration(*limit_s) : "none";
  const RunEstimate* const estimate = times.estimate_of(configuration.id, 1);
  if (estimate == nullptr) return fmt::format("time: {}: full limit, {}: nothing has finished yet", point, limit);
  return fmt::format("time: {}: estimated {}, 1.5 x the 90 % quantile of {}; its limit is {}", point,
                     human_duration(estimate->seconds), counted(estimate->runs, "finished run", "finished runs"), limit);
}

}  // namespace

RunEstimate estimate_run(std::vector<double> took_s, double limit_s) {
  std::sort(took_s.begin(), took_s.end());
  const auto rank = static_cast<std::size_t>(std::ceil(kQuantile * static_cast<double>(took_s.size())));
  return {std::min(limit_s, kSafety * took_s[rank - 1]), static_cast<int>(took_s.size())};
}

std::string partition_of(const Experiment& experiment, const Configuration& configuration) {
  const std::optional<std::string>& own = configuration.work->partition;
  return own ? *own : experiment.site.partition.value_or("");
}

std::vector<std::string> describe_estimates(const Plan& plan, const BlockTimes& times) {
  if (times.estimates.empty()) return {"time: full limits: nothing has finished yet"};
  std::vector<std::string> lines;
  for (const Configuration& configuration : plan.configurations) {
    if (lines.size() == kShownEstimates) break;
    lines.push_back(estimate_text(plan, configuration, times));
  }
  if (const std::size_t more = plan.configurations.size() - lines.size(); more > 0)
    lines.push_back(fmt::format("time: ... {} more", counted(static_cast<long long>(more), "configuration", "configurations")));
  return lines;
}

}  // namespace hpcbench
