#pragma once

#include <string>
#include <vector>

#include "base/value.hpp"
#include "plan/points.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// What an expression may use of one point.
struct PointScope {
  const Point& point;          // one value per axis
  const Bindings& parameters;  // those of the file, or those after its overrides
  const std::vector<Value>& derived;
};

/// An expression with its names looked up once.
class PointExpression {
 public:
  /// `derived`: the names of those values that a scope will have.
  PointExpression(const LocatedExpression& located, const std::vector<std::string>& axes,
                  const std::vector<std::string>& derived);

  /// InputError, which names the point, for what cannot be computed.
  Value value(const PointScope& scope) const;
  bool holds(const PointScope& scope) const;
  /// The names that it uses with their values: `dp=2, micro_batch=4`.
  std::string describe_values(const PointScope& scope) const;
  const LocatedExpression& located() const { return located_; }

 private:
  enum class Kind { axis, total, derived, parameter };  // total: over the nodes, of gpus or ranks
  struct Source {
    Kind kind = Kind::parameter;
    std::size_t index = 0;
    std::string name;
  };
  template <class Use>
  auto with_values(const PointScope& scope, Use use) const;

  LocatedExpression located_;
  const std::vector<std::string>& axes_;
  std::vector<Source> sources_;
  std::size_t totals_ = 0;  // how many of them
};

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
