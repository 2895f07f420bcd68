#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"
#include "expressions/result_kind.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

/// Depth first along what each value is derived from. The way is kept by hand: a file may have many.
class DeriveWalk {
 public:
  explicit DeriveWalk(const std::vector<ParsedDerived>& derive) : derive_(derive), states_(derive.size(), State::unseen) {
    for (std::size_t i = 0; i < derive.size(); ++i) index_.emplace(derive[i].derived.name, i);
    for (std::size_t i = 0; i < derive.size() && cycle.empty(); ++i) {
      if (states_[i] == State::unseen) walk(i);
    }
  }

  std::vector<std::size_t> order;
  std::vector<std::string> cycle;

 private:
  enum class State { unseen, on_the_way, done };
  struct Step {
    std::size_t value = 0;
    std::size_t next_name = 0;
  };

  void walk(std::size_t first) {
    std::vector<Step> way = {{first, 0}};
    states_[first] = State::on_the_way;
    while (!way.empty() && cycle.empty()) {
      Step& step = way.back();
      const std::vector<NameUse>& names = derive_[step.value].derived.expression.expression().names();
      if (step.next_name == names.size()) {
        states_[step.value] = State::done;
        order.push_back(step.value);
        way.pop_back();
        continue;
      }
      const auto needed = index_.find(names[step.next_name++].name);
      if (needed == index_.end() || states_[needed->second] == State::done) continue;
      if (states_[needed->second] == State::on_the_way) return take_cycle(way, needed->second);
      states_[needed->second] = State::on_the_way;
      way.push_back({needed->second, 0});
    }
  }

  void take_cycle(const std::vector<Step>& way, std::size_t again) {
    const auto begin = std::find_if(way.begin(), way.end(), [&](const Step& step) { return step.value == again; });
    for (auto step = begin; step != way.end(); ++step) cycle.push_back(derive_[step->value].derived.name);
    cycle.push_back(derive_[again].derived.name);
  }

  const std::vector<ParsedDerived>& derive_;
  std::vector<State> states_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

std::vector<Derived> in_order_of_need(const std::vector<ParsedDerived>& derive) {
  std::vector<Derived> ordered;
  for (const std::size_t i : DeriveWalk(derive).order) ordered.push_back(derive[i].derived);
  return ordered;
}

std::vector<std::string> derive_cycle(const std::vector<ParsedDerived>& derive) { return DeriveWalk(derive).cycle; }

namespace {

using Names = std::vector<std::string>;

bool is_among(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What an expression may name, by when it is evaluated: axes, exclude, include, overrides, derived values, require.
class ExpressionCheck {
 public:
  ExpressionCheck(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics)
      : parsed_(parsed), space_(space), diagnostics_(diagnostics), axes_(parsed.axis_names()) {
    if (is_among(axes_, kRanksPerNode)) axes_.emplace_back("ranks");
    axes_.emplace_back("gpus");
    for (const auto& [name, value] : parsed.experiment.work.parameters) parameters_.push_back(name);
    for (const ParsedOverride& entry : parsed.overrides) {
      for (const auto& [name, value] : entry.override_.parameters) overridden_.push_back(name);
    }
    for (const ParsedDerived& entry : parsed.derive) derived_.push_back(entry.derived.name);
  }

  void check_all() {
    for (const ParsedCondition& exclude : parsed_.exclude) {
      if (exclude.expression) check(*exclude.expression, "`exclude`", true);
    }
    for (const ParsedOverride& entry : parsed_.overrides) {
      if (entry.when.expression) check(*entry.when.expression, "`when`", true);
    }
    for (const ParsedDerived& entry : parsed_.derive) check(entry.derived.expression, "`derive`", false);
    for (const LocatedExpression& each : parsed_.experiment.require) check(each, "`require`", false);
    if (parsed_.where && parsed_.where->expression) check(*parsed_.where->expression, "`report.where`", false);
    for (const ParsedReference& entry : parsed_.references) {
      if (entry.when && entry.when->expression) check(*entry.when->expression, "`when`", false);
    }
  }

  void check_derived_names() {
    for (const ParsedDerived& entry : parsed_.derive) {
      const std::string& name = entry.derived.name;
      const char* const other = is_among(axes_, name)                                        ? "an axis"
                                : is_among(parameters_, name) || is_among(overridden_, name) ? "a parameter"
                                                                                             : nullptr;
      if (other == nullptr) continue;
      diagnostics_.add(entry.name_location, fmt::format("{} is {}: it cannot be a derived value, too", cite(name), other),
                       "keep it in one of the two places");
    }
  }

  void check_cycles() {
    const std::vector<std::string> cycle = derive_cycle(parsed_.derive);
    if (cycle.empty()) return;
    const auto first = std::find_if(parsed_.derive.begin(), parsed_.derive.end(),
                                    [&](const ParsedDerived& entry) { return entry.derived.name == cycle.front(); });
    diagnostics_.add(first->name_location,
                     fmt::format("{} is derived from itself: {}", cite(cycle.front()), join(cycle, " <- ")),
                     "one of these must be an axis or a parameter");
  }

 private:
  /// `early`: before overrides and derived values.
  void check(const LocatedExpression& each, const char* what, bool early) {
    if (diagnostics_.full()) return;
    for (const NameUse& use : each.expression().names()) check_name_use(each, use, what, early);
    if (is_inherited(each)) return;
    for (const LiteralUse& use : each.expression().literal_uses()) check_literal(each, use);
  }

  void check_name_use(const LocatedExpression& each, const NameUse& use, const char* what, bool early) {
    const auto refuse = [&](const std::string& message, const std::string& advice) {
      diagnostics_.add(each.location(use.offset), message, advice);
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
    diagnostics_.add(each.location(use.offset),
                     fmt::format("{} in {} is no axis, parameter or derived value{}", cite(use.name), what,
                                 value ? "" : did_you_mean(use.name, known)),
                     advice);
  }

  /// A literal that no point has is a slip of the pen: the comparison would be the same everywhere.
  void check_literal(const LocatedExpression& each, const LiteralUse& use) {
    if (!space_.has_axis(use.name) || space_.has_value(use.name, use.literal, true)) return;
    refuse_value(space_, use.name, use.literal, each.location(use.offset), diagnostics_);
  }

  bool is_inherited(const LocatedExpression& each) const {
    return each.location().source == parsed_.root->location.source &&
           parsed_.inherited_expressions.contains(each.location().offset);
  }

  const ParsedExperiment& parsed_;
  const PointSpace& space_;
  Diagnostics& diagnostics_;
  Names axes_, parameters_, overridden_, derived_;
};

}  // namespace

void check_expressions(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  ExpressionCheck check(parsed, space, diagnostics);
  const std::size_t before = diagnostics.made();
  check.check_derived_names();
  if (diagnostics.made() == before) check.check_cycles();
  check.check_all();
}

namespace {

using Kind = ResultKind::Kind;
using MetricsByName = std::map<std::string, const Metric*>;

/// Formulas of metrics and `success.require`: computed for each run when it is read, of its metrics and its point.
class FormulaCheck {
 public:
  FormulaCheck(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics)
      : parsed_(parsed), diagnostics_(diagnostics) {
    const auto add_parameters = [&](const Bindings& parameters) {
      for (const auto& [name, value] : parameters) of_points_.emplace(name, value.is_text() ? Kind::text : Kind::unknown);
    };
    for (const std::string& axis : parsed.axis_names()) {
      const std::vector<Value> values = space.has_axis(axis) ? space.some_values(axis) : std::vector<Value>();
      const bool text = std::any_of(values.begin(), values.end(), [](const Value& value) { return value.is_text(); });
      of_points_.emplace(axis, text ? Kind::text : Kind::unknown);
    }
    of_points_.emplace("gpus", Kind::number);
    if (of_points_.contains(kRanksPerNode)) of_points_.emplace("ranks", Kind::number);
    add_parameters(parsed.experiment.work.parameters);
    for (const ParsedOverride& entry : parsed.overrides) add_parameters(entry.override_.parameters);
    for (const ParsedDerived& entry : parsed.derive) of_points_.emplace(entry.derived.name, Kind::unknown);
    for (const auto* names : {&measured_metrics(), &trainer_metrics()})
      measured_.insert(measured_.end(), names->begin(), names->end());
  }

  void check_all() {
    const Work& work = parsed_.experiment.work;
    check_list(work.metrics, parsed_.root->find("metrics"));
    std::vector<Metric> anywhere = work.metrics;
    for (const ParsedOverride& entry : parsed_.overrides) {
      if (!entry.override_.metrics) continue;
      check_list(*entry.override_.metrics, entry.node->find("metrics"));
      anywhere.insert(anywhere.end(), entry.override_.metrics->begin(), entry.override_.metrics->end());
    }
    check_requirements(work.success.require, by_name(anywhere));
    for (const ParsedOverride& entry : parsed_.overrides)
      check_requirements(entry.override_.success.require.value_or(std::vector<LocatedExpression>()), by_name(anywhere));
  }

 private:
  static MetricsByName by_name(const std::vector<Metric>& metrics) {
    MetricsByName names;
    for (const Metric& metric : metrics) names.emplace(metric.name, &metric);
    return names;
  }

  /// `list` holds what `metrics` were read from.
  void check_list(const std::vector<Metric>& metrics, const YamlNode* list) {
    MetricsByName names = by_name(metrics);
    for (const Metric& metric : parsed_.experiment.described) names.emplace(metric.name, &metric);
    std::vector<ParsedDerived> formulas;
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      const YamlNode* const name = list->items[i].find("name");
      const YamlNode* const text = list->items[i].find("formula");
      const auto metric = name == nullptr || text == nullptr ? names.end() : names.find(name->text);
      if (metric == names.end()) continue;
      const auto formula = LocatedExpression::read(*text, "`formula`", diagnostics_);
      if (!formula) continue;
      formulas.push_back({{metric->first, *formula}, formula->location()});
      check_formula(*metric->second, *formula, names);
    }
    const std::vector<std::string> cycle = derive_cycle(formulas);
    if (cycle.empty()) return;
    const auto first = std::find_if(formulas.begin(), formulas.end(),
                                    [&](const ParsedDerived& each) { return each.derived.name == cycle.front(); });
    diagnostics_.add(first->name_location,
                     fmt::format("the metric {} is computed from itself: {}", cite(cycle.front()), join(cycle, " <- ")),
                     "one of these must be read from a file");
  }

  void check_formula(const Metric& metric, const LocatedExpression& formula, const MetricsByName& metrics) {
    if (!check_names(formula, metrics, "a formula")) return;
    for (const NameUse& use : formula.expression().names()) {
      const auto point = of_points_.find(use.name);
      if (point == of_points_.end() || point->second != Kind::text) continue;
      diagnostics_.add(formula.location(use.offset),
                       fmt::format("{} has values that are texts, and a formula computes with numbers", cite(use.name)),
                       "give points their own metrics in `overrides`");
      return;
    }
    const std::optional<ResultKind> result = infer(formula, metrics);
    if (!result) return;
    if (result->kind == Kind::truth || result->kind == Kind::text) {
      diagnostics_.add(formula.location(),
                       fmt::format("a metric is a number, and this formula gives {}",
                                   result->kind == Kind::truth ? "true or false" : "a text"),
                       "conditions stand in `success.require` and `report.where`");
    } else if (!metric.unit.empty() && !result->unit.empty() && metric.unit != result->unit) {
      diagnostics_.add(
          formula.location(),
          fmt::format("the formula of {} gives {}, and its `unit` says {}", cite(metric.name), result->unit, metric.unit),
          fmt::format("convert it, as in x / 1000, or write unit: {}", result->unit));
    }
  }

  void check_requirements(const std::vector<LocatedExpression>& requirements, const MetricsByName& metrics) {
    for (const LocatedExpression& each : requirements) {
      if (!check_names(each, metrics, "`success.require`") || !check_in_time(each, metrics)) continue;
      const std::optional<ResultKind> result = infer(each, metrics);
      if (!result || result->kind == Kind::truth || result->kind == Kind::unknown) continue;
      diagnostics_.add(each.location(), "a condition is true or false, and this gives a value",
                       "compare it with something: x < 3");
    }
  }

  bool check_in_time(const LocatedExpression& each, const MetricsByName& metrics) {
    for (const NameUse& use : each.expression().names()) {
      const auto metric = metrics.find(use.name);
      if (metric == metrics.end() || metric->second->source != "accounting") continue;
      diagnostics_.add(each.location(use.offset),
                       fmt::format("{} comes from Slurm's accounting, after the run has its outcome", cite(use.name)),
                       "require what the program writes itself");
      return false;
    }
    return true;
  }

  bool check_names(const LocatedExpression& each, const MetricsByName& metrics, const std::string& what) {
    const std::size_t before = diagnostics_.made();
    for (const NameUse& use : each.expression().names()) {
      if (diagnostics_.full()) return false;
      const bool of_point = of_points_.contains(use.name);
      const bool declared = metrics.contains(use.name);
      if (of_point && declared) {
        diagnostics_.add(each.location(use.offset),
                         fmt::format("{} is a metric, and an axis, parameter or derived value, too", cite(use.name)),
                         "give the metric another name");
      } else if (!of_point && !declared && std::find(measured_.begin(), measured_.end(), use.name) == measured_.end()) {
        refuse_unknown(each, use, metrics, what);
      }
    }
    return diagnostics_.made() == before;
  }

  void refuse_unknown(const LocatedExpression& each, const NameUse& use, const MetricsByName& metrics,
                      const std::string& what) {
    std::vector<std::string> known;
    for (const auto& [name, metric] : metrics) known.push_back(name);
    for (const auto& [name, kind] : of_points_) known.push_back(name);
    std::vector<std::string> all = known;
    all.insert(all.end(), measured_.begin(), measured_.end());
    diagnostics_.add(each.location(use.offset),
                     fmt::format("{} in {} is no metric, axis, parameter or derived value{}", cite(use.name), what,
                                 did_you_mean(use.name, all)),
                     fmt::format("names: {}, and what hpcbench measures (wall_s ...). If the program writes it as an event: "
                                 "{{name: {}, file: events.jsonl, pointer: /{}}}",
                                 cite_all(known), use.name, use.name));
  }

  std::optional<ResultKind> infer(const LocatedExpression& each, const MetricsByName& metrics) {
    try {
      return infer_result(each.expression(), [&](const std::string& name) {
        if (const auto metric = metrics.find(name); metric != metrics.end())
          return ResultKind{Kind::number, metric->second->unit};
        const auto point = of_points_.find(name);
        return ResultKind{point == of_points_.end() ? Kind::number : point->second, ""};
      });
    } catch (const ExpressionError& error) {
      diagnostics_.add(each.location(error.offset()), error.what(), error.advice());
      return std::nullopt;
    }
  }

  const ParsedExperiment& parsed_;
  Diagnostics& diagnostics_;
  std::map<std::string, Kind> of_points_;  // axes, parameters, derived values
  std::vector<std::string> measured_;
};

}  // namespace

void check_formulas(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  FormulaCheck(parsed, space, diagnostics).check_all();
}

}  // namespace hpcbench
