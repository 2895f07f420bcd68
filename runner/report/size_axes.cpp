#include "report/size_axes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.hpp"
#include "base/value.hpp"
#include "plan/points.hpp"

namespace hpcbench {
namespace {

const std::vector<std::string> kPlacement = {"nodes", "gpus_per_node"};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::size_t> positions(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (holds(names, plan.axes[i])) found.push_back(i);
  }
  return found;
}

bool is_zipped_with_size(const Experiment& experiment, const std::string& name) {
  return std::any_of(experiment.zip.begin(), experiment.zip.end(), [&](const std::vector<Axis>& block) {
    const auto has = [&](const std::string& axis) {
      return std::any_of(block.begin(), block.end(), [&](const Axis& one) { return one.name == axis; });
    };
    return has(name) && std::any_of(kPlacement.begin(), kPlacement.end(), has);
  });
}

/// The axes that may vary together with the size: indices into Plan::axes. Weak scaling expects a size that grows; where the
/// work is to be the same, only what a zip block says grows with the gpus, not what happens to.
std::vector<std::size_t> candidates(const Experiment& experiment, const Plan& plan) {
  const bool weak = experiment.report.scaling == Scaling::weak;
  std::vector<std::size_t> found;
  for (const std::size_t axis : positions(plan, plan.varied)) {
    const std::string& name = plan.axes[axis];
    if (name == "strategy" || holds(kPlacement, name)) continue;
    const bool numbers = std::all_of(plan.configurations.begin(), plan.configurations.end(),
                                     [&](const Configuration& one) { return one.values[axis].is_number(); });
    const bool zipped = is_zipped_with_size(experiment, name);
    if (weak ? numbers || zipped : numbers && zipped) found.push_back(axis);
  }
  return found;
}

std::string key_of(const Configuration& configuration, const std::vector<std::size_t>& axes) {
  std::string key;
  for (const std::size_t axis : axes) key += configuration.values[axis].canonical() + ",";
  return key;
}

/// What one look at all configurations shows of the candidates, given that all of them are left out of the families.
struct Look {
  std::unordered_set<std::size_t> free;    // two values at one size of a family
  std::unordered_set<std::size_t> varied;  // several values in a family
};

Look look_at(const Plan& plan, const std::vector<std::size_t>& axes) {
  std::vector<std::string> names = kPlacement;
  for (const std::size_t axis : axes) names.push_back(plan.axes[axis]);
  std::vector<std::string> others;
  std::copy_if(plan.varied.begin(), plan.varied.end(), std::back_inserter(others),
               [&](const std::string& name) { return !holds(names, name); });
  const std::vector<std::size_t> family_axes = positions(plan, others);
  Look look;
  std::unordered_map<std::string, const Configuration*> families;
  std::unordered_map<std::string, const Configuration*> sizes;
  for (const Configuration& one : plan.configurations) {
    const std::string family = key_of(one, family_axes);
    const std::string size = family + std::to_string(one.nodes) + "x" + std::to_string(one.gpus_per_node);
    const Configuration& first = *families.emplace(family, &one).first->second;
    const Configuration& same_size = *sizes.emplace(size, &one).first->second;
    for (const std::size_t axis : axes) {
      if (one.values[axis] != same_size.values[axis]) look.free.insert(axis);
      if (one.values[axis] != first.values[axis]) look.varied.insert(axis);
    }
  }
  return look;
}

}  // namespace

std::vector<std::string> size_axes(const Experiment& experiment, const Plan& plan) {
  std::vector<std::string> sizes = kPlacement;
  // In a full cross product every axis varies by itself.
  if (experiment.zip.empty() && experiment.exclude.empty() && experiment.include.empty()) return sizes;
  std::vector<std::size_t> axes = candidates(experiment, plan);
  while (!axes.empty()) {
    const Look look = look_at(plan, axes);
    if (look.free.empty()) {
      for (const std::size_t axis : axes) {
        if (look.varied.contains(axis)) sizes.push_back(plan.axes[axis]);
      }
      break;
    }
    // A free axis tells families apart, within which another may be bound: hence once more.
    std::erase_if(axes, [&](std::size_t axis) { return look.free.contains(axis); });
  }
  return sizes;
}

std::vector<std::string> compared_sizes(const Experiment& experiment, const Plan& plan) {
  const std::vector<std::string> sizes = size_axes(experiment, plan);
  if (sizes.size() == kPlacement.size()) return sizes;
  const PointCondition is_baseline(experiment.baseline, plan.axes);
  std::unordered_set<std::string> keys;
  for (const Configuration& configuration : plan.configurations) {
    if (!is_baseline.matches(configuration.values)) continue;
    if (!keys.insert(comparison_key(plan.bindings(configuration), experiment.baseline, sizes)).second) return kPlacement;
  }
  return sizes;
}

std::string comparison_key(const Bindings& axes, const Condition& baseline, const std::vector<std::string>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : axes) {
    const bool named = std::any_of(baseline.begin(), baseline.end(), [&](const auto& entry) { return entry.first == name; });
    if (name == "strategy" || named || holds(sizes, name)) continue;
    parts.push_back(json_quote(name) + ":" + value.canonical());
  }
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

}  // namespace hpcbench
