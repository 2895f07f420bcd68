#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// One value per axis of `Experiment::axis_names`.
using Point = std::vector<Value>;

/// What became of the points that `exclude` spoke of.
struct Excluded {
  long long points = 0;            // of the product, left out
  std::vector<std::string> notes;  // expressions that a profile left without a point
};

/// Visits the points of matrix and zip in file order, the first axis slowest, less those that `exclude` matches.
/// InputError if the limit on configurations is passed, or an expression of `exclude` is true nowhere.
Excluded each_matrix_point(const Experiment& experiment, const std::vector<std::string>& axes,
                           const std::function<void(const Point&)>& visit);

/// The points of `include`; nodes and gpus_per_node may be left out and are 1 (0 gpus beside ranks_per_node) then. InputError
/// for any other gap.
std::vector<Point> included_points(const Experiment& experiment, const std::vector<std::string>& axes);

/// A condition with its names looked up once. One that names no axis matches nothing.
class PointCondition {
 public:
  PointCondition(const Condition& condition, const std::vector<std::string>& axes);
  bool matches(const Point& point) const;

 private:
  struct Clause {
    std::size_t axis = 0;
    std::vector<Value> values;
  };
  std::vector<Clause> clauses_;
  bool possible_ = true;
};

}  // namespace hpcbench
