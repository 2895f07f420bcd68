#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/value.hpp"
#include "spec/axis_points.hpp"
#include "spec/located_expression.hpp"

namespace hpcbench {

/// `n=1, nodes=2`, for messages.
std::string describe_point(const Point& point, const std::vector<std::string>& axes);

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

}  // namespace hpcbench
