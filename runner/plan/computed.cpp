#include "plan/computed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace hpcbench {

namespace {

const std::vector<Value> kNothingDerived;

std::string point_text(const Point& point, const std::vector<std::string>& axes) {
  Bindings bindings;
  for (std::size_t i = 0; i < axes.size(); ++i) bindings.emplace_back(axes[i], point[i]);
  return describe(bindings);
}

std::size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

PointExpression::PointExpression(const LocatedExpression& located, const std::vector<std::string>& axes,
                                 const std::vector<std::string>& derived)
    : located_(located), axes_(axes) {
  for (const NameUse& use : located_.expression().names()) {
    if (const std::size_t axis = index_in(axes, use.name); axis < axes.size()) {
      sources_.push_back({Kind::axis, axis, use.name});
    } else if (use.name == "gpus") {
      sources_.push_back({Kind::total, index_in(axes, "gpus_per_node"), use.name});
    } else if (const std::size_t ranks = index_in(axes, kRanksPerNode); use.name == "ranks" && ranks < axes.size()) {
      sources_.push_back({Kind::total, ranks, use.name});
    } else if (const std::size_t value = index_in(derived, use.name); value < derived.size()) {
      sources_.push_back({Kind::derived, value, use.name});
    } else {
      sources_.push_back({Kind::parameter, 0, use.name});
    }
  }
}

template <class Use>
auto PointExpression::with_values(const PointScope& scope, Use use) const {
  std::vector<Value> totals;
  totals.reserve(sources_.size());
  std::vector<const Value*> values;
  values.reserve(sources_.size());
  for (const Source& source : sources_) {
    switch (source.kind) {
      case Kind::axis:
        values.push_back(&scope.point[source.index]);
        break;
      case Kind::total:
        totals.push_back(Value::from_integer(scope.point[index_in(axes_, "nodes")].integer().value_or(1) *
                                             scope.point[source.index].integer().value_or(1)));
        values.push_back(&totals.back());
        break;
      case Kind::derived:
        values.push_back(&scope.derived[source.index]);
        break;
      case Kind::parameter:
        values.push_back(find_binding(scope.parameters, source.name));
        break;
    }
  }
  try {
    return use(values);
  } catch (const ExpressionError& error) {
    throw InputError(located_.describe(error, point_text(scope.point, axes_)));
  }
}

Value PointExpression::value(const PointScope& scope) const {
  return with_values(scope, [&](const std::vector<const Value*>& values) { return located_.expression().value(values); });
}

bool PointExpression::holds(const PointScope& scope) const {
  return with_values(scope, [&](const std::vector<const Value*>& values) { return located_.expression().holds(values); });
}

std::string PointExpression::describe_values(const PointScope& scope) const {
  return with_values(scope, [&](const std::vector<const Value*>& values) {
    Bindings bindings;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != nullptr) bindings.emplace_back(sources_[i].name, *values[i]);
    }
    return describe(bindings);
  });
}

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
                                     fmt::format("this does not hold for {}", point_text(point, axes_)),
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
