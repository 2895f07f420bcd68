#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/axis_points.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

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

}  // namespace hpcbench
