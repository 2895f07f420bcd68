#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// One value per axis of `Experiment::axis_names`.
using Point = std::vector<Value>;

/// The point of an empty file: nodes and gpus_per_node are 1 by default (0 gpus beside ranks_per_node).
Point implied_point(const std::vector<std::string>& axes);

/// Axes whose values vary together: one of `matrix`, or a block of `zip`.
struct AxisBlock {
  /// All rows. `names`: the columns of a point. The axes have equally many values, and must outlive it.
  AxisBlock(std::vector<const Axis*> together, const std::vector<std::string>& names);

  std::vector<const Axis*> axes;
  std::vector<std::size_t> columns;  // of each axis
  std::vector<std::size_t> rows;     // those to visit, as indices into the axes' values
};

/// The product of blocks in file order, the first block slowest: sets `point`, then calls `visit`, until that returns false.
void each_point(const std::vector<AxisBlock>& blocks, Point& point, const std::function<bool()>& visit);

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
