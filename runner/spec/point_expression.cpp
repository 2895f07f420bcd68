#include "spec/point_expression.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace hpcbench {

namespace {

std::size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

std::string describe_point(const Point& point, const std::vector<std::string>& axes) {
  Bindings bindings;
  for (std::size_t i = 0; i < axes.size(); ++i) bindings.emplace_back(axes[i], point[i]);
  return describe(bindings);
}

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
  totals_ = static_cast<std::size_t>(
      std::count_if(sources_.begin(), sources_.end(), [](const Source& source) { return source.kind == Kind::total; }));
}

template <class Use>
auto PointExpression::with_values(const PointScope& scope, Use use) const {
  std::vector<Value> totals;
  totals.reserve(totals_);
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
    throw InputError(located_.describe(error, describe_point(scope.point, axes_)));
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

}  // namespace hpcbench
