#include "plan/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"
#include "plan/points.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kOnlyForm = "write --only axis=value,axis=value|value";

std::string describe_clause(const std::string& name, const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (texts.empty() || texts.back() != value.text()) texts.push_back(value.text());
  }
  return name + '=' + join(texts, "|");
}

/// The different values of an axis, at most ten, in table order.
std::string values_of_axis(const Plan& plan, std::size_t axis) {
  constexpr std::size_t kShown = 10;
  std::set<Value> values;
  for (const Configuration& configuration : plan.configurations) values.insert(configuration.values[axis]);
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (texts.size() == kShown) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(value.text());
  }
  return join(texts, ", ");
}

/// Names the clause that nothing matches, else says that no configuration matches them all.
std::string why_nothing_is_left(const Plan& plan, const Condition& only) {
  std::vector<std::string> clauses;
  for (const auto& [name, values] : only) {
    const PointCondition alone({{name, values}}, plan.axes);
    const bool some = std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                  [&](const Configuration& c) { return alone.matches(c.values); });
    if (!some) {
      const auto axis = static_cast<std::size_t>(std::find(plan.axes.begin(), plan.axes.end(), name) - plan.axes.begin());
      return fmt::format("error: no configuration has {} (there are: {})", describe_clause(name, values),
                         values_of_axis(plan, axis));
    }
    clauses.push_back(describe_clause(name, values));
  }
  return fmt::format("error: no configuration has {} at once", join(clauses, " and "));
}

/// Splits at the separators that no backslash stands before.
std::vector<std::string> split_unescaped(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == separator && (i == 0 || text[i - 1] != '\\')) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

/// `a\,b\|c` -> `a,b|c`: values may hold what separates them here. Other backslashes are themselves.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '|');
    if (!escapes) out += text[i];
  }
  return out;
}

std::vector<Value> only_values(std::string_view alternatives) {
  std::vector<Value> values;
  for (const std::string& escaped : split_unescaped(alternatives, '|')) {
    const std::string text = unescaped(escaped);
    values.push_back(Value::from_plain(text));
    if (!values.back().is_text()) values.push_back(Value::from_text(text));
  }
  return values;
}

}  // namespace

Plan select(const Plan& plan, const Condition& only) {
  for (const auto& clause : only) {
    if (std::find(plan.axes.begin(), plan.axes.end(), clause.first) == plan.axes.end()) {
      throw InputError(fmt::format("error: `{}` is no axis{}; the axes are: {}", clause.first,
                                   did_you_mean(clause.first, plan.axes), join(plan.axes, ", ")));
    }
  }
  const PointCondition condition(only, plan.axes);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (condition.matches(plan.configurations[i].values)) kept.push_back(i);
  }
  if (kept.empty()) throw InputError(why_nothing_is_left(plan, only));
  return keep_configurations(plan, kept);
}

Condition parse_only(const std::string& text) {
  Condition condition;
  for (const std::string& clause : split_unescaped(text, ',')) {
    const std::size_t equals = clause.find('=');
    const std::string name(trim(clause.substr(0, equals)));
    if (equals == std::string::npos || name.empty() || equals + 1 == clause.size()) {
      throw InputError(fmt::format("error: --only {}: `{}` is not axis=value; {}", text, clause, kOnlyForm));
    }
    const bool twice = std::any_of(condition.begin(), condition.end(), [&](const auto& known) { return known.first == name; });
    if (twice) throw InputError(fmt::format("error: --only {}: `{}` is named twice; {}", text, name, kOnlyForm));
    condition.emplace_back(name, only_values(std::string_view(clause).substr(equals + 1)));
  }
  return condition;
}

}  // namespace hpcbench
