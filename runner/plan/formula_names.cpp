#include "plan/formula_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "plan/json_text.hpp"

namespace hpcbench {

namespace {

void add_names(const LocatedExpression& located, std::set<std::string>& names) {
  for (const NameUse& use : located.expression().names()) names.insert(use.name);
}

}  // namespace

FormulaNames formula_names(const Work& work, const std::vector<Derived>& derive) {
  std::set<std::string> wanted;
  for (const Metric& metric : work.metrics) {
    if (metric.formula) add_names(*metric.formula, wanted);
  }
  for (const LocatedExpression& each : work.success.require) add_names(each, wanted);
  FormulaNames names;
  for (auto each = derive.rbegin(); each != derive.rend(); ++each) {  // what one needs stands before it
    if (!wanted.contains(each->name)) continue;
    add_names(each->expression, wanted);
    names.derived.emplace_back(each->name, each->expression.expression().text());
  }
  std::reverse(names.derived.begin(), names.derived.end());
  for (const auto& [name, value] : work.parameters) {
    if (wanted.contains(name)) names.parameters.emplace_back(name, value);
  }
  return names;
}

std::string formula_names_json(const FormulaNames& names) {
  std::string derived;
  for (const auto& [name, text] : names.derived)
    derived += fmt::format("{}{}:{}", derived.empty() ? "" : ",", json_quote(name), json_quote(text));
  return fmt::format(R"({{"parameters":{},"derived":{{{}}}}})", json_object(names.parameters), derived);
}

std::string success_json(const Success& success) {
  std::string require;
  for (const LocatedExpression& each : success.require)
    require += (require.empty() ? "" : ",") + json_quote(each.expression().text());
  if (!require.empty()) require = ",\"require\":[" + require + ']';
  return fmt::format(R"({{"exit_code":{},"pattern":{}{}}})", success.exit_code,
                     success.pattern ? json_quote(*success.pattern) : "null", require);
}

}  // namespace hpcbench
