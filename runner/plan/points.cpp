#include "plan/points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/computed.hpp"

namespace hpcbench {

namespace {

/// The value of `nodes` and `gpus_per_node` where nobody says them.
Value implied_count(const std::vector<std::string>& axes, const std::string& axis) {
  const bool none = axis == "gpus_per_node" && std::find(axes.begin(), axes.end(), kRanksPerNode) != axes.end();
  return Value::from_integer(none ? 0 : 1);
}

/// Axes that vary together: one of the matrix, or a zip block.
struct AxisGroup {
  std::vector<std::size_t> columns;
  std::vector<const Axis*> axes;
  std::size_t length() const { return axes.front()->values.size(); }
};

std::size_t column_of(const std::vector<std::string>& axes, const std::string& name) {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), name) - axes.begin());
}

AxisGroup group_of(const std::vector<const Axis*>& members, const std::vector<std::string>& axes) {
  AxisGroup group;
  for (const Axis* axis : members) {
    if (axis->values.size() != members.front()->values.size()) {
      throw InputError(fmt::format("error: axes that are zipped need equally many values: {} has {}, {} has {}",
                                   members.front()->name, members.front()->values.size(), axis->name, axis->values.size()));
    }
    group.columns.push_back(column_of(axes, axis->name));
    group.axes.push_back(axis);
  }
  return group;
}

std::vector<AxisGroup> axis_groups(const Experiment& experiment, const std::vector<std::string>& axes) {
  std::vector<AxisGroup> groups;
  for (const Axis& axis : experiment.matrix) groups.push_back(group_of({&axis}, axes));
  for (const std::vector<Axis>& block : experiment.zip) {
    std::vector<const Axis*> members;
    for (const Axis& axis : block) members.push_back(&axis);
    if (!members.empty()) groups.push_back(group_of(members, axes));
  }
  return groups;
}

/// Counted before `exclude`: a matrix that is far too large would take memory and minutes only to be looked through.
void check_point_count(const Experiment& experiment, const std::vector<AxisGroup>& groups) {
  double count = 1;
  for (const AxisGroup& group : groups) count *= static_cast<double>(group.length());
  if (count <= static_cast<double>(experiment.limits.configurations)) return;
  throw InputError(fmt::format(
      "error: {}: the matrix has {:.0f} points, more than limits.configurations ({}): shorten an axis, or raise the limit",
      experiment.path, count, experiment.limits.configurations));
}

void set_point(Point& point, const AxisGroup& group, std::size_t index) {
  for (std::size_t i = 0; i < group.columns.size(); ++i) point[group.columns[i]] = group.axes[i]->values[index];
}

/// All of `exclude`. Maps come first: what they leave out, expressions need not be able to compute.
class Excludes {
 public:
  Excludes(const Experiment& experiment, const std::vector<std::string>& axes) {
    for (const Condition& condition : experiment.exclude) maps_.emplace_back(condition, axes);
    for (const ConditionExpression& each : experiment.exclude_if)
      expressions_.emplace_back(each, axes, experiment.work.parameters);
  }

  bool match(const Point& point) {
    bool matched = std::any_of(maps_.begin(), maps_.end(), [&](const PointCondition& each) { return each.matches(point); });
    for (ExpressionCondition& each : expressions_) {
      if (matched) {
        each.try_dropped(point);
      } else {
        matched = each.holds(point);
      }
    }
    result_.points += matched ? 1 : 0;
    return matched;
  }

  Excluded finish() {
    for (const ExpressionCondition& each : expressions_) each.require_use("exclude", result_.notes);
    return std::move(result_);
  }

 private:
  std::vector<PointCondition> maps_;
  std::vector<ExpressionCondition> expressions_;
  Excluded result_;
};

}  // namespace

Excluded each_matrix_point(const Experiment& experiment, const std::vector<std::string>& axes,
                           const std::function<void(const Point&)>& visit) {
  const std::vector<AxisGroup> groups = axis_groups(experiment, axes);
  if (groups.empty()) return {};
  check_point_count(experiment, groups);
  Excludes excludes(experiment, axes);

  Point point;
  for (const std::string& axis : axes) point.push_back(implied_count(axes, axis));
  std::vector<std::size_t> index(groups.size(), 0);
  for (const AxisGroup& group : groups) {
    if (group.length() == 0) return {};
    set_point(point, group, 0);
  }
  while (true) {
    if (!excludes.match(point)) visit(point);
    std::size_t digit = groups.size();  // an odometer: the last axis turns fastest
    while (digit > 0 && ++index[digit - 1] == groups[digit - 1].length()) {
      index[digit - 1] = 0;
      set_point(point, groups[digit - 1], 0);
      --digit;
    }
    if (digit == 0) return excludes.finish();
    set_point(point, groups[digit - 1], index[digit - 1]);
  }
}

std::vector<Point> included_points(const Experiment& experiment, const std::vector<std::string>& axes) {
  std::vector<Point> points;
  for (const Bindings& bindings : experiment.include) {
    for (const auto& binding : bindings) {
      if (column_of(axes, binding.first) == axes.size()) {
        throw InputError(fmt::format("error: {}: include names `{}`, which is no axis{}", experiment.path, binding.first,
                                     did_you_mean(binding.first, axes)));
      }
    }
    Point point;
    for (const std::string& axis : axes) {
      const Value* value = find_binding(bindings, axis);
      if (value == nullptr && axis != "nodes" && axis != "gpus_per_node") {
        throw InputError(fmt::format("error: {}: include {}: a whole point names every axis, `{}` is missing", experiment.path,
                                     describe(bindings), axis));
      }
      point.push_back(value == nullptr ? implied_count(axes, axis) : *value);
    }
    points.push_back(std::move(point));
  }
  return points;
}

PointCondition::PointCondition(const Condition& condition, const std::vector<std::string>& axes) {
  for (const auto& [name, values] : condition) {
    const std::size_t column = column_of(axes, name);
    if (column == axes.size()) possible_ = false;
    clauses_.push_back({column, values});
  }
}

bool PointCondition::matches(const Point& point) const {
  return possible_ && std::all_of(clauses_.begin(), clauses_.end(), [&](const Clause& clause) {
           return std::find(clause.values.begin(), clause.values.end(), point[clause.axis]) != clause.values.end();
         });
}

}  // namespace hpcbench
