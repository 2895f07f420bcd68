#include "plan/computed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace hpcbench {

namespace {

const std::vector<Value> kNothingDerived;

}  // namespace

PointComputer::PointComputer(const Experiment& experiment, const std::vector<std::string>& axes) : axes_(axes) {
  for (const Derived& each : experiment.derive) {
    derive_.emplace_back(each.expression, axes, names_);  // in order of need: it names earlier ones alone
    names_.push_back(each.name);
  }
  for (const LocatedExpression& each : experiment.require) require_.emplace_back(each, axes, names_);
}

std::vector<Value> PointComputer::compute(const Point& point, const Bindings& parameters) const {
  std::vector<Value> derived;
  derived.reserve(derive_.size());
  for (const PointExpression& each : derive_) derived.push_back(each.value({point, parameters, derived}));
  const PointScope scope{point, parameters, derived};
  for (const PointExpression& each : require_) {
    if (each.holds(scope)) continue;
    const std::string values = each.describe_values(scope);
    throw InputError(located_message(each.located().location(),
                                     fmt::format("this does not hold for {}", describe_point(point, axes_)),
                                     fmt::format("{}{}leave such points out by `exclude`, or change what does not fit", values,
                                                 values.empty() ? "" : "; ")));
  }
  return derived;
}

ExpressionCondition::ExpressionCondition(const ConditionExpression& condition, const std::vector<std::string>& axes,
                                         const Bindings& parameters)
    : expression_(condition.expression, axes, {}), parameters_(parameters), may_be_empty_(condition.may_be_empty) {}

bool ExpressionCondition::holds(const Point& point) {
  const bool result = expression_.holds({point, parameters_, kNothingDerived});
  used_ = used_ || result;
  return result;
}

void ExpressionCondition::try_dropped(const Point& point) {
  if (used_) return;
  try {
    holds(point);
  } catch (const InputError&) {
    used_ = true;  // nobody can say that it is true nowhere
  }
}

void ExpressionCondition::require_use(const std::string& what, std::vector<std::string>& notes) const {
  if (used_) return;
  const SourceLocation location = expression_.located().location();
  if (!may_be_empty_) throw InputError(located_message(location, fmt::format("this {} is true for no point", what), ""));
  notes.push_back(fmt::format("{}: this {} is true for no point that is there", describe_place(location), what));
}

}  // namespace hpcbench
