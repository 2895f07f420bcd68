#include "plan/size_axes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.hpp"
#include "base/value.hpp"
#include "plan/placeholders.hpp"
#include "plan/points.hpp"

namespace hpcbench {
namespace {

const std::vector<std::string> kLayout = {"nodes", "gpus_per_node", kRanksPerNode};

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a plan has of these axes.
std::vector<std::string> layout_of(const Plan& plan) {
  std::vector<std::string> names = kLayout;
  if (!holds(plan.axes, kRanksPerNode)) names.pop_back();
  return names;
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
    return has(name) && std::any_of(kLayout.begin(), kLayout.end(), has);
  });
}

/// The axes that may vary together with the size: indices into Plan::axes. Weak scaling expects a size that grows; where the
/// work is to be the same, only what a zip block says grows with the gpus, not what happens to.
std::vector<std::size_t> candidates(const Experiment& experiment, const Plan& plan) {
  const bool weak = experiment.report.scaling == Scaling::weak;
  std::vector<std::size_t> found;
  for (const std::size_t axis : positions(plan, plan.varied)) {
    const std::string& name = plan.axes[axis];
    if (name == "strategy" || holds(kLayout, name)) continue;
    const bool numbers = std::all_of(plan.configurations.begin(), plan.configurations.end(),
                                     [&](const Configuration& one) { return one.values[axis].is_number(); });
    const bool zipped = is_zipped_with_size(experiment, name);
    if (weak ? numbers || zipped : numbers && zipped) found.push_back(axis);
  }
  return found;
}

/// Small numbers for tuples of values: equal for equal tuples. Strings for a million configurations would take seconds.
class TupleNumbers {
 public:
  TupleNumbers(const Plan& plan, const std::vector<std::string>& axes) : axes_(positions(plan, axes)), values_(axes_.size()) {}

  std::uint32_t number(const Configuration& configuration) {
    std::uint32_t tuple = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::string& value = configuration.values[axes_[i]].canonical();
      const auto number = static_cast<std::uint32_t>(values_[i].size());
      tuple = extend(tuple, values_[i].emplace(value, number).first->second);
    }
    return tuple;
  }
  /// Of a tuple with one more number.
  std::uint32_t extend(std::uint32_t tuple, std::uint32_t last) {
    const auto number = static_cast<std::uint32_t>(pairs_.size() + 1);
    return pairs_.emplace(std::uint64_t{tuple} << 32 | last, number).first->second;
  }

 private:
  std::vector<std::size_t> axes_;
  std::vector<std::unordered_map<std::string_view, std::uint32_t>> values_;
  std::unordered_map<std::uint64_t, std::uint32_t> pairs_;
};

/// What one look at all configurations shows of the candidates, given that all of them are left out of the families.
struct Look {
  std::unordered_set<std::size_t> free;    // two values at one size of a family
  std::unordered_set<std::size_t> varied;  // several values in a family
};

Look look_at(const Plan& plan, const std::vector<std::size_t>& axes) {
  std::vector<std::string> names = kLayout;
  for (const std::size_t axis : axes) names.push_back(plan.axes[axis]);
  std::vector<std::string> others;
  std::copy_if(plan.varied.begin(), plan.varied.end(), std::back_inserter(others),
               [&](const std::string& name) { return !holds(names, name); });
  TupleNumbers families(plan, others);
  TupleNumbers sizes(plan, kLayout);
  TupleNumbers sizes_of_families(plan, {});
  std::vector<const Configuration*> first_of_family;  // by their numbers, which are given out in order
  std::vector<const Configuration*> first_of_size;
  const auto first_with = [](std::vector<const Configuration*>& firsts, std::uint32_t number, const Configuration& one) {
    if (number >= firsts.size()) firsts.resize(number + 1, nullptr);
    if (firsts[number] == nullptr) firsts[number] = &one;
    return firsts[number];
  };
  Look look;
  for (const Configuration& one : plan.configurations) {
    const std::uint32_t family = families.number(one);
    const std::uint32_t size = sizes_of_families.extend(family, sizes.number(one));
    const Configuration& first = *first_with(first_of_family, family, one);
    const Configuration& same_size = *first_with(first_of_size, size, one);
    for (const std::size_t axis : axes) {
      if (one.values[axis] != same_size.values[axis]) look.free.insert(axis);
      if (one.values[axis] != first.values[axis]) look.varied.insert(axis);
    }
  }
  return look;
}

/// Counted in cores, a run also grows with the threads of a process: the axes that cpus_per_task takes.
std::vector<std::string> core_axes(const Experiment& experiment, const Plan& plan) {
  std::vector<std::string> found;
  if (experiment.scale_by() != ScaleBy::cores) return found;
  for (const FilledText& text : experiment.work.resources.texts) {
    if (text.key != "cpus_per_task") continue;
    for (const std::string& name : placeholders_in(text.text)) {
      if (holds(plan.axes, name) && !holds(kLayout, name)) found.push_back(name);
    }
  }
  return found;
}

}  // namespace

std::string own_size_axis(const Plan& plan, ScaleBy unit) {
  const std::string name = to_string(unit);
  const bool may_have_own = unit == ScaleBy::ranks && !holds(plan.axes, kRanksPerNode);
  return may_have_own && holds(plan.axes, name) ? name : "";
}

int size_of(const Plan& plan, const Configuration& configuration, ScaleBy unit) {
  const std::string name = own_size_axis(plan, unit);
  if (name.empty()) return run_size(configuration, unit);
  const auto column = static_cast<std::size_t>(std::find(plan.axes.begin(), plan.axes.end(), name) - plan.axes.begin());
  const auto count = configuration.values[column].integer();
  return count && *count > 0 && *count <= std::numeric_limits<int>::max() ? static_cast<int>(*count) : 0;
}

bool is_layout(const std::string& axis) { return holds(kLayout, axis); }

std::vector<std::string> size_axes(const Experiment& experiment, const Plan& plan) {
  std::vector<std::string> sizes = layout_of(plan);
  for (std::string& axis : core_axes(experiment, plan)) sizes.push_back(std::move(axis));
  if (const std::string own = own_size_axis(plan, experiment.scale_by()); !own.empty() && !holds(sizes, own))
    sizes.push_back(own);
  // In a full cross product every axis varies by itself.
  if (experiment.zip.empty() && experiment.exclude.empty() && experiment.exclude_if.empty() && experiment.include.empty())
    return sizes;
  std::vector<std::size_t> axes = candidates(experiment, plan);
  while (!axes.empty()) {
    const Look look = look_at(plan, axes);
    if (look.free.empty()) {
      for (const std::size_t axis : axes) {
        if (holds(sizes, plan.axes[axis])) continue;
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
  if (std::all_of(sizes.begin(), sizes.end(), is_layout)) return sizes;
  const PointCondition is_baseline(experiment.baseline, plan.axes);
  std::unordered_set<std::string> keys;
  for (const Configuration& configuration : plan.configurations) {
    if (!is_baseline.matches(configuration.values)) continue;
    const Bindings axes = plan.bindings(configuration);
    const std::string key = comparison_key(axes, experiment.baseline, sizes) + "|" + size_key(axes, kLayout);
    if (!keys.insert(key).second) return layout_of(plan);
  }
  return sizes;
}

std::string size_key(const Bindings& axes, const std::vector<std::string>& sizes) {
  std::string key;
  for (const std::string& name : sizes) {
    const Value* value = find_binding(axes, name);
    key += (value == nullptr ? "" : value->canonical()) + ",";
  }
  return key;
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
