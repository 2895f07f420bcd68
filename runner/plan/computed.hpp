#pragma once

#include <string>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"
#include "spec/point_expression.hpp"

namespace hpcbench {

/// Computes `derive` and asks `require` for each point.
class PointComputer {
 public:
  /// Keeps references to both.
  PointComputer(const Experiment& experiment, const std::vector<std::string>& axes);

  const std::vector<std::string>& names() const { return names_; }
  /// The derived values of a point, in the order of `names`. InputError, which names the point, where one cannot be computed or
  /// a requirement does not hold.
  std::vector<Value> compute(const Point& point, const Bindings& parameters) const;

 private:
  const std::vector<std::string>& axes_;
  std::vector<std::string> names_;
  std::vector<PointExpression> derive_;
  std::vector<PointExpression> require_;
};

/// `exclude` or `when` as an expression, and whether it was true anywhere.
class ExpressionCondition {
 public:
  ExpressionCondition(const ConditionExpression& condition, const std::vector<std::string>& axes, const Bindings& parameters);
  bool holds(const Point& point);
  /// Learns whether it is true somewhere from a point that is left out already, where it need not be computable.
  void try_dropped(const Point& point);
  /// InputError (for what a profile left empty a note) if it was true nowhere.
  void require_use(const std::string& what, std::vector<std::string>& notes) const;

 private:
  PointExpression expression_;
  const Bindings& parameters_;
  bool may_be_empty_;
  bool used_ = false;
};

}  // namespace hpcbench
