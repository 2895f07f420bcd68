#include "ingest/formulas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "expressions/expression.hpp"
#include "expressions/operands.hpp"

namespace hpcbench {

namespace {

/// What an expression gave for one run: one of the first two, or why there is none.
struct Computed {
  std::optional<double> number;
  std::optional<bool> truth;
  std::string problem = {};
  bool is_nan = false;  // it names a metric that is NaN or infinite
};

/// What the expressions of one run may name.
class RunScope {
 public:
  RunScope(const RunInfo& info, const AttemptRecord& record) : record_(record), known_(record.axes) {
    known_.emplace_back("gpus", Value::from_integer(record.gpus));
    add_ranks();
    known_.insert(known_.end(), info.formula_names.parameters.begin(), info.formula_names.parameters.end());
    for (const auto& [name, text] : info.formula_names.derived) add_derived(name, text);
  }

  Computed compute(const std::string& text) const {
    try {
      const Expression expression(text);
      std::vector<std::optional<Operand>> operands;
      for (const NameUse& use : expression.names()) {
        operands.push_back(find(use.name));
        if (operands.back()) continue;
        const bool is_nan = is_nan_metric(record_, use.name);
        return {{}, {}, fmt::format("{} {}", printable(use.name), is_nan ? "is nan" : "has no value"), is_nan};
      }
      const Operand result = expression.evaluate(operands);
      if (const auto* truth = std::get_if<bool>(&result)) return {{}, *truth};
      if (is_number(result)) return {to_double(result), {}};
      return {{}, {}, "it gives " + hpcbench::describe(result)};
    } catch (const ExpressionError& error) {
      return {{}, {}, error.what()};
    }
  }

  /// `val_loss is 3.4`: the metrics that an expression names.
  std::string describe(const std::string& text) const {
    std::vector<std::string> parts;
    const Expression expression(text);
    for (const NameUse& use : expression.names()) {
      const auto metric = record_.metrics.find(use.name);
      if (metric != record_.metrics.end() && find_binding(known_, use.name) == nullptr)
        parts.push_back(fmt::format("{} is {}", use.name, metric->second));
    }
    return join(parts, ", ");
  }

  /// The first metric that an expression names and that came out NaN: `take` may have found a value before that.
  std::string nan_metric_of(const std::string& text) const {
    try {
      const Expression expression(text);
      for (const NameUse& use : expression.names()) {
        if (find_binding(known_, use.name) == nullptr && is_nan_metric(record_, use.name)) return use.name;
      }
    } catch (const ExpressionError&) {  // compute() describes it
    }
    return "";
  }

 private:
  std::optional<Operand> find(const std::string& name) const {
    if (const Value* value = find_binding(known_, name)) return to_operand(*value);
    const auto metric = record_.metrics.find(name);
    return metric == record_.metrics.end() ? std::nullopt : std::optional<Operand>(metric->second);
  }

  /// Beside the axis ranks_per_node there is their number.
  void add_ranks() {
    const Value* const nodes = find_binding(record_.axes, "nodes");
    const Value* const ranks = find_binding(record_.axes, "ranks_per_node");
    if (ranks == nullptr || !ranks->integer()) return;
    known_.emplace_back("ranks",
                        Value::from_integer((nodes == nullptr ? 1 : nodes->integer().value_or(1)) * *ranks->integer()));
  }

  void add_derived(const std::string& name, const std::string& text) {
    try {
      const Expression expression(text);
      std::vector<const Value*> values;
      for (const NameUse& use : expression.names()) values.push_back(find_binding(known_, use.name));
      Value value = expression.value(values);
      known_.emplace_back(name, std::move(value));
    } catch (const ExpressionError&) {
      // It has no value here, which whatever names it says.
    }
  }

  const AttemptRecord& record_;
  Bindings known_;  // all but metrics
};

std::vector<const Metric*> formulas_of(const RunInfo& info) {
  std::vector<const Metric*> formulas;
  for (const Metric& metric : info.metrics) {
    if (metric.is_formula()) formulas.push_back(&metric);
  }
  return formulas;
}

}  // namespace

void compute_formulas(const RunInfo& info, AttemptRecord& record, bool warn) {
  std::vector<const Metric*> open = formulas_of(info);
  if (open.empty()) return;
  for (const Metric* formula : open) {  // one of the same name from events is another thing
    record.metrics.erase(formula->name);
    record.places.erase(formula->name);
  }
  std::vector<std::string> problems, nan_problems;
  // Each pass computes those whose names have their values by then; without cycles the passes end with the longest way.
  for (bool found = true; found && !open.empty();) {
    const RunScope scope(info, record);
    std::vector<const Metric*> still_open;
    std::vector<std::pair<const Metric*, double>> values;
    std::vector<std::string> nan;
    problems.clear();
    for (const Metric* formula : open) {
      const Computed computed = scope.compute(formula->selector);
      if (computed.number) {
        values.emplace_back(formula, *computed.number);
      } else {
        (computed.is_nan ? nan_problems : problems)
            .push_back(fmt::format("metric {}: {}, in the formula {}", formula->name,
                                   computed.truth ? "it gives true or false" : computed.problem, printable(formula->selector)));
        if (computed.is_nan) {
          nan.push_back(formula->name);
        } else {
          still_open.push_back(formula);
        }
      }
    }
    for (const auto& [formula, value] : values) {
      record.metrics[formula->name] = value;
      record.places[formula->name] = "formula " + printable(formula->selector);
    }
    for (const std::string& name : nan) record.facts[kNanFact] += ", " + name;  // so are formulas that name this one
    found = !values.empty() || !nan.empty();
    open = std::move(still_open);
  }
  if (!warn) return;
  record.warnings.insert(record.warnings.end(), nan_problems.begin(), nan_problems.end());
  if (!open.empty()) record.warnings.insert(record.warnings.end(), problems.begin(), problems.end());
}

std::optional<std::string> broken_requirement(const RunInfo& info, const AttemptRecord& record) {
  if (info.success_require.empty()) return std::nullopt;
  const RunScope scope(info, record);
  for (const std::string& requirement : info.success_require) {
    const std::string begin = fmt::format("success requires {}", printable(requirement));
    if (const std::string nan = scope.nan_metric_of(requirement); !nan.empty())
      return fmt::format("{}: {} is nan", begin, printable(nan));
    const Computed computed = scope.compute(requirement);
    if (!computed.problem.empty()) return fmt::format("{}: {}", begin, computed.problem);
    if (!computed.truth) return begin + ", which is neither true nor false";
    if (*computed.truth) continue;
    const std::string values = scope.describe(requirement);
    return fmt::format("{}{}{}", begin, values.empty() ? "" : ", and ", values.empty() ? ", which is false" : values);
  }
  return std::nullopt;
}

}  // namespace hpcbench
