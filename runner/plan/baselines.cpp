#include "plan/baselines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/points.hpp"
#include "plan/size_axes.hpp"

namespace hpcbench {

Baselines::Baselines(const Experiment& experiment, const Plan& plan)
    : experiment_(experiment), sizes_(compared_sizes(experiment, plan)), matched_(sizes_) {
  std::erase_if(matched_, [&](const std::string& name) {
    return std::any_of(experiment.baseline.begin(), experiment.baseline.end(),
                       [&](const auto& clause) { return clause.first == name; });
  });
  const PointCondition is_baseline(experiment.baseline, plan.axes);
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (is_baseline.matches(plan.configurations[i].values)) add(plan, i);
  }
}

void Baselines::add(const Plan& plan, std::size_t index) {
  const Bindings axes = plan.bindings(plan.configurations[index]);
  const auto [other, is_new] =
      by_key_[comparison_key(axes, experiment_.baseline, sizes_)].emplace(size_key(axes, matched_), index);
  if (!is_new && !ambiguous_) ambiguous_ = {plan.bindings(plan.configurations[other->second]), axes};
  if (is_new) indices_.push_back(index);
}

void Baselines::require_good() const {
  if (ambiguous_) {
    throw InputError(
        fmt::format("error: {}: two configurations are a baseline for the same points: `{}` and `{}`; name in `baseline` what "
                    "tells them apart",
                    experiment_.path, describe(ambiguous_->first), describe(ambiguous_->second)));
  }
  if (indices_.empty()) {
    throw InputError(
        fmt::format("error: {}: no configuration matches `baseline`; give it values that the matrix has, or leave it out",
                    experiment_.path));
  }
}

bool Baselines::of_each_size() const {
  return std::any_of(by_key_.begin(), by_key_.end(), [](const auto& entry) { return entry.second.size() > 1; });
}

std::optional<std::size_t> Baselines::of(const Bindings& axes) const {
  const auto found = by_key_.find(comparison_key(axes, experiment_.baseline, sizes_));
  if (found == by_key_.end()) return std::nullopt;
  if (found->second.size() == 1) return found->second.begin()->second;
  const auto same = found->second.find(size_key(axes, matched_));
  return same == found->second.end() ? std::nullopt : std::optional(same->second);
}

}  // namespace hpcbench
