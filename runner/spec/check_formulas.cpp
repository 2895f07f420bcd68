#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "expressions/result_kind.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

using Kind = ResultKind::Kind;
using MetricsByName = std::map<std::string, const Metric*>;

/// Formulas of metrics and the requirements of `success`: they are computed for each run when it is read, from its metrics and
/// from what is known of its point.
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
    add_parameters(parsed.experiment.work.parameters);
    for (const ParsedOverride& entry : parsed.overrides) add_parameters(entry.override_.parameters);
    for (const ParsedDerived& entry : parsed.derive) of_points_.emplace(entry.derived.name, Kind::unknown);
    for (const auto* names : {&measured_metrics(), &trainer_metrics()})
      measured_.insert(measured_.end(), names->begin(), names->end());
  }

  void check_all() {
    const Work& work = parsed_.experiment.work;
    check_list(work.metrics);
    std::vector<Metric> anywhere = work.metrics;
    for (const ParsedOverride& entry : parsed_.overrides) {
      if (!entry.override_.metrics) continue;
      check_list(*entry.override_.metrics);
      anywhere.insert(anywhere.end(), entry.override_.metrics->begin(), entry.override_.metrics->end());
    }
    check_requirements(work.success.require, by_name(anywhere));
    for (const ParsedOverride& entry : parsed_.overrides)
      check_requirements(entry.override_.success_require.value_or(std::vector<LocatedExpression>()), by_name(anywhere));
  }

 private:
  static MetricsByName by_name(const std::vector<Metric>& metrics) {
    MetricsByName names;
    for (const Metric& metric : metrics) names.emplace(metric.name, &metric);
    return names;
  }

  void check_list(const std::vector<Metric>& metrics) {
    const MetricsByName names = by_name(metrics);
    std::vector<ParsedDerived> formulas;
    for (const Metric& metric : metrics) {
      if (!metric.formula) continue;
      formulas.push_back({{metric.name, *metric.formula}, metric.formula->location()});
      check_formula(metric, names);
    }
    const std::vector<std::string> cycle = derive_cycle(formulas);
    if (cycle.empty()) return;
    const auto first = std::find_if(formulas.begin(), formulas.end(),
                                    [&](const ParsedDerived& each) { return each.derived.name == cycle.front(); });
    diagnostics_.add(first->name_location,
                     fmt::format("the metric {} is computed from itself: {}", cite(cycle.front()), join(cycle, " <- ")),
                     "one of these must be read from a file");
  }

  void check_formula(const Metric& metric, const MetricsByName& metrics) {
    if (!check_names(*metric.formula, metrics, "a formula")) return;
    for (const NameUse& use : metric.formula->expression().names()) {
      const auto point = of_points_.find(use.name);
      if (point == of_points_.end() || point->second != Kind::text) continue;
      diagnostics_.add(metric.formula->location(use.offset),
                       fmt::format("{} has values that are texts, and a formula computes with numbers", cite(use.name)),
                       "give points their own metrics in `overrides`");
      return;
    }
    const std::optional<ResultKind> result = infer(*metric.formula, metrics);
    if (!result) return;
    if (result->kind == Kind::truth || result->kind == Kind::text) {
      diagnostics_.add(metric.formula->location(),
                       fmt::format("a metric is a number, and this formula gives {}",
                                   result->kind == Kind::truth ? "true or false" : "a text"),
                       "conditions stand in `success.require` and `report.where`");
    } else if (!metric.unit.empty() && !result->unit.empty() && metric.unit != result->unit) {
      diagnostics_.add(
          metric.formula->location(),
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

  /// Slurm's accounting is known after the outcome.
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
