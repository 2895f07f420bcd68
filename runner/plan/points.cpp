#include "plan/points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/computed.hpp"

namespace hpcbench {

namespace {

std::vector<AxisBlock> axis_blocks(const Experiment& experiment, const std::vector<std::string>& axes) {
  std::vector<AxisBlock> blocks;
  for (const Axis& axis : experiment.matrix) blocks.push_back({{&axis}, axes});
  for (const std::vector<Axis>& zipped : experiment.zip) {
    std::vector<const Axis*> members;
    for (const Axis& axis : zipped) {
      if (axis.values.size() != zipped.front().values.size()) {
        throw InputError(fmt::format("error: axes that are zipped need equally many values: {} has {}, {} has {}",
                                     zipped.front().name, zipped.front().values.size(), axis.name, axis.values.size()));
      }
      members.push_back(&axis);
    }
    if (!members.empty()) blocks.push_back({std::move(members), axes});
  }
  return blocks;
}

/// Counted before `exclude`: a matrix that is far too large would take memory and minutes only to be looked through.
void check_point_count(const Experiment& experiment, const std::vector<AxisBlock>& blocks) {
  double count = 1;
  for (const AxisBlock& block : blocks) count *= static_cast<double>(block.rows.size());
  if (count <= static_cast<double>(experiment.limits.configurations)) return;
  throw InputError(fmt::format(
      "error: {}: the matrix has {:.0f} points, more than limits.configurations ({}): shorten an axis, or raise the limit",
      experiment.path, count, experiment.limits.configurations));
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
  const std::vector<AxisBlock> blocks = axis_blocks(experiment, axes);
  if (blocks.empty()) return {};
  check_point_count(experiment, blocks);
  Excludes excludes(experiment, axes);
  Point point = implied_point(axes);
  each_point(blocks, point, [&] {
    if (!excludes.match(point)) visit(point);
    return true;
  });
  return excludes.finish();
}

std::vector<Point> included_points(const Experiment& experiment, const std::vector<std::string>& axes) {
  std::vector<Point> points;
  const Point implied = implied_point(axes);
  for (const Bindings& bindings : experiment.include) {
    for (const auto& binding : bindings) {
      if (std::find(axes.begin(), axes.end(), binding.first) == axes.end()) {
        throw InputError(fmt::format("error: {}: include names `{}`, which is no axis{}", experiment.path, binding.first,
                                     did_you_mean(binding.first, axes)));
      }
    }
    Point point = implied;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::string& axis = axes[i];
      const Value* value = find_binding(bindings, axis);
      if (value == nullptr && axis != "nodes" && axis != "gpus_per_node") {
        throw InputError(fmt::format("error: {}: include {}: a whole point names every axis, `{}` is missing", experiment.path,
                                     describe(bindings), axis));
      }
      if (value != nullptr) point[i] = *value;
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace hpcbench
