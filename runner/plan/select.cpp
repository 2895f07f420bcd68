#include "plan/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/computed.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kEmptyText = "\"\"";  // the value "" of an axis, as --only has it
constexpr std::string_view kOnlyForm = "write --only axis=value,axis=value|value";

std::string readable(const Value& value) { return value.text().empty() ? std::string(kEmptyText) : value.text(); }

std::string describe_clause(const std::string& name, const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (texts.empty() || texts.back() != value.text()) texts.push_back(readable(value));
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
    texts.push_back(readable(value));
  }
  return join(texts, ", ");
}

/// Names the clause that nothing matches, else says that no configuration matches them all.
std::string why_nothing_is_left(const Plan& plan, const Condition& only) {
  std::vector<std::string> clauses;
  for (const auto& [name, values] : only) {
    const Condition alone = {{name, values}};
    const bool some = std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                  [&](const Configuration& c) { return matches(alone, plan.all_bindings(c)); });
    const bool derived = std::find(plan.derived.begin(), plan.derived.end(), name) != plan.derived.end();
    if (!some && derived) return fmt::format("error: no configuration has {}", describe_clause(name, values));
    if (!some) {
      const auto axis = static_cast<std::size_t>(std::find(plan.axes.begin(), plan.axes.end(), name) - plan.axes.begin());
      return fmt::format("error: no configuration has {} (there are: {})", describe_clause(name, values),
                         values_of_axis(plan, axis));
    }
    clauses.push_back(describe_clause(name, values));
  }
  return fmt::format("error: no configuration has {} at once", join(clauses, " and "));
}

/// Whether a backslash at `i` stands for the byte after it: a comma, a bar or a backslash. Others are themselves.
bool escapes(std::string_view text, std::size_t i) {
  return text[i] == '\\' && i + 1 < text.size() && std::string_view(",|\\").find(text[i + 1]) != std::string_view::npos;
}

std::vector<Value> only_values(std::string_view alternatives) {
  std::vector<Value> values;
  for (const std::string& escaped : split_escaped(alternatives, '|')) {
    const std::string text = unescaped(escaped);
    if (text == kEmptyText) values.push_back(Value::from_text(""));
    values.push_back(Value::from_plain(text));
    if (!values.back().is_text()) values.push_back(Value::from_text(text));
  }
  return values;
}

}  // namespace

Plan select(const Plan& plan, const Condition& only) {
  for (const auto& clause : only) {
    const bool derived = std::find(plan.derived.begin(), plan.derived.end(), clause.first) != plan.derived.end();
    if (!derived && std::find(plan.axes.begin(), plan.axes.end(), clause.first) == plan.axes.end()) {
      throw InputError(fmt::format("error: `{}` is no axis{}; the axes are: {}", clause.first,
                                   did_you_mean(clause.first, plan.axes), join(plan.axes, ", ")));
    }
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (matches(only, plan.all_bindings(plan.configurations[i]))) kept.push_back(i);
  }
  if (kept.empty()) throw InputError(why_nothing_is_left(plan, only));
  return keep_configurations(plan, kept);
}

namespace {

/// The names of a point by which expressions may choose.
std::vector<std::string> names_of_points(const Plan& plan) {
  std::vector<std::string> names = plan.axes;
  names.emplace_back("gpus");
  if (std::find(plan.axes.begin(), plan.axes.end(), kRanksPerNode) != plan.axes.end()) names.emplace_back("ranks");
  names.insert(names.end(), plan.derived.begin(), plan.derived.end());
  for (const Configuration& configuration : plan.configurations) {
    if (&configuration != &plan.configurations.front() && configuration.work == (&configuration - 1)->work) continue;
    for (const auto& [name, value] : configuration.work->parameters) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void require_names_of_points(const Plan& plan, const LocatedExpression& where) {
  const std::vector<std::string> known = names_of_points(plan);
  for (const NameUse& use : where.expression().names()) {
    if (std::find(known.begin(), known.end(), use.name) != known.end()) continue;
    const auto is_value = [&](const Configuration& each) {
      return std::any_of(each.values.begin(), each.values.end(),
                         [&](const Value& value) { return value.is_text() && value.text() == use.name; });
    };
    const bool value = std::any_of(plan.configurations.begin(), plan.configurations.end(), is_value);
    throw InputError(located_message(
        where.location(use.offset),
        fmt::format("`{}` is no axis, parameter or derived value{}", use.name, value ? "" : did_you_mean(use.name, known)),
        value ? fmt::format("a text has quotes: '{}'; or {}", use.name, kOnlyForm) : "names: " + join(known, ", ")));
  }
}

/// A literal that no configuration has, else the whole.
[[noreturn]] void refuse_nowhere(const Plan& plan, const LocatedExpression& where) {
  for (const LiteralUse& use : where.expression().literal_uses()) {
    const auto axis = static_cast<std::size_t>(std::find(plan.axes.begin(), plan.axes.end(), use.name) - plan.axes.begin());
    const bool some =
        axis == plan.axes.size() || std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                                [&](const Configuration& each) { return each.values[axis] == use.literal; });
    if (some) continue;
    throw InputError(located_message(where.location(use.offset),
                                     fmt::format("no configuration has {}={}", use.name, use.literal.text()),
                                     "there are: " + values_of_axis(plan, axis)));
  }
  throw InputError(located_message(where.location(), "this is true for no configuration", ""));
}

bool begins_with_pair(const std::string& text) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t at = text.find_first_not_of(kBlanks);
  const std::size_t begin = at;
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_')) ++at;
  if (at == begin || at == std::string::npos) return false;
  at = text.find_first_not_of(kBlanks, at);
  return at != std::string::npos && text[at] == '=' && (at + 1 == text.size() || text[at + 1] != '=');
}

}  // namespace

std::vector<std::size_t> find_configurations_where(const Plan& plan, const LocatedExpression& where) {
  require_names_of_points(plan, where);
  const PointExpression expression(where, plan.axes, plan.derived);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& each = plan.configurations[i];
    if (expression.holds({each.values, each.work->parameters, each.derived})) kept.push_back(i);
  }
  return kept;
}

std::vector<std::size_t> configurations_where(const Plan& plan, const LocatedExpression& where) {
  std::vector<std::size_t> kept = find_configurations_where(plan, where);
  if (kept.empty()) refuse_nowhere(plan, where);
  return kept;
}

Plan select(const Plan& plan, const Selection& only) {
  if (!only.expression) return select(plan, only.condition);
  return keep_configurations(plan, configurations_where(plan, *only.expression));
}

std::vector<std::string> split_escaped(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escapes(text, i)) {
      parts.back() += text.substr(i++, 2);
    } else if (text[i] == separator) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escapes(text, i)) ++i;
    out += text[i];
  }
  return out;
}

Selection parse_selection(const std::string& text, const std::string& option) {
  if (begins_with_pair(text)) return {parse_only(text), std::nullopt};
  return {{}, LocatedExpression::parse(text, option)};
}

Condition parse_only(const std::string& text) {
  Condition condition;
  for (const std::string& clause : split_escaped(text, ',')) {
    const std::size_t equals = clause.find('=');
    const std::string name(trim(clause.substr(0, equals)));
    if (equals == std::string::npos || name.empty() || equals + 1 == clause.size()) {
      const bool has_no_value = equals != std::string::npos && !name.empty();
      throw InputError(fmt::format("error: --only {}: `{}` is not axis=value; {}{}", text, clause, kOnlyForm,
                                   has_no_value ? fmt::format(" (the empty text is {}={})", name, kEmptyText) : ""));
    }
    const bool twice = std::any_of(condition.begin(), condition.end(), [&](const auto& known) { return known.first == name; });
    if (twice) throw InputError(fmt::format("error: --only {}: `{}` is named twice; {}", text, name, kOnlyForm));
    std::string_view values = std::string_view(clause).substr(equals + 1);
    if (clause[equals - 1] == ' ') values = trim(values);  // `nodes = 2`
    condition.emplace_back(name, only_values(values));
  }
  return condition;
}

}  // namespace hpcbench
