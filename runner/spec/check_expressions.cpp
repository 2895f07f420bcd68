#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/derive_order.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

using Names = std::vector<std::string>;

bool is_among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What an expression may name, by when it is evaluated: axes, exclude, include, overrides, derived values, require.
class ExpressionCheck {
 public:
  ExpressionCheck(const Draft& draft, const PointSpace& space, Complaints& complaints)
      : draft_(draft), space_(space), complaints_(complaints), axes_(draft.axis_names()) {
    axes_.emplace_back("gpus");
    for (const auto& [name, value] : draft.experiment.work.parameters) parameters_.push_back(name);
    for (const OverrideDraft& entry : draft.overrides) {
      for (const auto& [name, value] : entry.override_.parameters) overridden_.push_back(name);
    }
    for (const DerivedDraft& entry : draft.derive) derived_.push_back(entry.derived.name);
  }

  void check_all() {
    for (const ConditionDraft& exclude : draft_.exclude) {
      if (exclude.expression) check(*exclude.expression, "`exclude`", true);
    }
    for (const OverrideDraft& entry : draft_.overrides) {
      if (entry.when.expression) check(*entry.when.expression, "`when`", true);
    }
    for (const DerivedDraft& entry : draft_.derive) check(entry.derived.expression, "`derive`", false);
    for (const LocatedExpression& each : draft_.experiment.require) check(each, "`require`", false);
    if (draft_.where && draft_.where->expression) check(*draft_.where->expression, "`report.where`", false);
  }

  void check_derived_names() {
    for (const DerivedDraft& entry : draft_.derive) {
      const std::string& name = entry.derived.name;
      const char* const other = is_among(axes_, name)                                        ? "an axis"
                                : is_among(parameters_, name) || is_among(overridden_, name) ? "a parameter"
                                                                                             : nullptr;
      if (other == nullptr) continue;
      complaints_.add(entry.name_spot, fmt::format("{} is {}: it cannot be a derived value, too", cite(name), other),
                      "keep it in one of the two places");
    }
  }

  void check_cycles() {
    const std::vector<std::string> cycle = derive_cycle(draft_.derive);
    if (cycle.empty()) return;
    const auto first = std::find_if(draft_.derive.begin(), draft_.derive.end(),
                                    [&](const DerivedDraft& entry) { return entry.derived.name == cycle.front(); });
    complaints_.add(first->name_spot, fmt::format("{} is derived from itself: {}", cite(cycle.front()), join(cycle, " <- ")),
                    "one of these must be an axis or a parameter");
  }

 private:
  /// `early`: before overrides and derived values.
  void check(const LocatedExpression& each, const char* what, bool early) {
    if (complaints_.full()) return;
    for (const NameUse& use : each.expression().names()) check_name_use(each, use, what, early);
    if (is_inherited(each)) return;
    for (const LiteralUse& use : each.expression().literal_uses()) check_literal(each, use);
  }

  void check_name_use(const LocatedExpression& each, const NameUse& use, const char* what, bool early) {
    const auto refuse = [&](const std::string& message, const std::string& advice) {
      complaints_.add(each.spot(use.offset), message, advice);
    };
    constexpr std::array<std::string_view, 3> kOfRuns = {"repeat", "seed", "run_dir"};
    if (std::find(kOfRuns.begin(), kOfRuns.end(), use.name) != kOfRuns.end()) {
      return refuse(fmt::format("{} differs from run to run: {} is about points", cite(use.name), what),
                    fmt::format("programs are given it by {{{{{}}}}}", use.name));
    }
    if (is_among(axes_, use.name)) return;
    if (early && is_among(overridden_, use.name)) {
      return refuse(fmt::format("overrides change {}, and {} comes before them", cite(use.name), what),
                    "name the axes that the overrides' `when` names");
    }
    if (early && is_among(derived_, use.name)) {
      return refuse(fmt::format("{} is derived, and {} comes before `derive`", cite(use.name), what),
                    "name what it is derived from; `require` and --only know derived values");
    }
    if (is_among(parameters_, use.name) || is_among(overridden_, use.name) || is_among(derived_, use.name)) return;
    refuse_unknown(each, use, what, early);
  }

  void refuse_unknown(const LocatedExpression& each, const NameUse& use, const char* what, bool early) {
    Names known = axes_;
    known.insert(known.end(), parameters_.begin(), parameters_.end());
    if (!early) known.insert(known.end(), overridden_.begin(), overridden_.end());
    if (!early) known.insert(known.end(), derived_.begin(), derived_.end());
    const bool value = std::any_of(axes_.begin(), axes_.end(), [&](const std::string& axis) {
      return space_.has_axis(axis) && space_.has_value(axis, Value::from_text(use.name), true);
    });
    const std::string advice = value ? fmt::format("a text has quotes: '{}'", use.name) : "names: " + cite_all(known);
    complaints_.add(each.spot(use.offset),
                    fmt::format("{} in {} is no axis, parameter or derived value{}", cite(use.name), what,
                                value ? "" : did_you_mean(use.name, known)),
                    advice);
  }

  /// A literal that no point has is a slip of the pen: the comparison would be the same everywhere.
  void check_literal(const LocatedExpression& each, const LiteralUse& use) {
    if (!space_.has_axis(use.name) || space_.has_value(use.name, use.literal, true)) return;
    refuse_value(space_, use.name, use.literal, each.spot(use.offset), complaints_);
  }

  bool is_inherited(const LocatedExpression& each) const {
    return each.spot().source == draft_.root->spot.source && draft_.inherited_expressions.contains(each.spot().offset);
  }

  const Draft& draft_;
  const PointSpace& space_;
  Complaints& complaints_;
  Names axes_, parameters_, overridden_, derived_;
};

}  // namespace

void check_expressions(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  ExpressionCheck check(draft, space, complaints);
  const std::size_t before = complaints.made();
  check.check_derived_names();
  if (complaints.made() == before) check.check_cycles();
  check.check_all();
}

std::set<std::size_t> expressions_of(const Draft& draft) {
  std::set<std::size_t> offsets;
  const auto add = [&](const LocatedExpression& each) { offsets.insert(each.spot().offset); };
  for (const ConditionDraft& exclude : draft.exclude) {
    if (exclude.expression) add(*exclude.expression);
  }
  for (const OverrideDraft& entry : draft.overrides) {
    if (entry.when.expression) add(*entry.when.expression);
  }
  for (const DerivedDraft& entry : draft.derive) add(entry.derived.expression);
  for (const LocatedExpression& each : draft.experiment.require) add(each);
  if (draft.where && draft.where->expression) add(*draft.where->expression);
  return offsets;
}

}  // namespace hpcbench
