#include "plan/formula_names.hpp"

#include <algorithm>
#include <set>

namespace hpcbench {

namespace {

void add_names(const Expression& expression, std::set<std::string>& names) {
  for (const NameUse& use : expression.names()) names.insert(use.name);
}

}  // namespace

FormulaNames formula_names(const Work& work, const std::vector<Derived>& derive) {
  std::set<std::string> wanted;
  for (const Metric& metric : work.metrics) {
    if (metric.is_formula()) add_names(Expression(metric.selector), wanted);
  }
  for (const LocatedExpression& each : work.success.require) add_names(each.expression(), wanted);
  FormulaNames names;
  for (auto each = derive.rbegin(); each != derive.rend(); ++each) {  // what one needs stands before it
    if (!wanted.contains(each->name)) continue;
    add_names(each->expression.expression(), wanted);
    names.derived.emplace_back(each->name, each->expression.expression().text());
  }
  std::reverse(names.derived.begin(), names.derived.end());
  for (const auto& [name, value] : work.parameters) {
    if (wanted.contains(name)) names.parameters.emplace_back(name, value);
  }
  return names;
}

}  // namespace hpcbench
