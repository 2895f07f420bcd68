// Scripts of parameters and patterns that an expression can state exactly, and lists from which another parameter chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "base/value.hpp"
#include "expressions/expression.hpp"
#include "expressions/tokens.hpp"
#include "jube/parameters.hpp"
#include "jube/references.hpp"

namespace hpcbench {

namespace {

bool is_exact_symbol(std::string_view symbol, bool measured) {
  static const std::set<std::string_view> kExact = {"+", "-", "*", "**", "//", "%", "(", ")", ","};
  return kExact.contains(symbol) || (measured && symbol == "/");
}

/// The names in a script, and whether their values may be negative.
using Names = std::map<std::string, bool>;

/// Returns whether the token may be the right side of `**`: a power of a negative exponent is a decimal.
bool is_exponent(const Token& token, const Names& names) {
  if (token.kind == Token::Kind::number) return true;
  const auto name = token.kind == Token::Kind::name ? names.find(std::string(token.text)) : names.end();
  return name != names.end() && !name->second;
}

/// Returns whether Python computes the same: only for integers, because its decimals have more digits and another spelling.
bool is_exact(const std::string& text, const Names& names, bool measured) {
  static const std::set<std::string_view> kFunctions = {"min", "max", "abs"};
  try {
    Tokens tokens(text);
    bool after_power = false;
    for (Token token = tokens.next(); token.kind != Token::Kind::end; token = tokens.next()) {
      if (token.kind == Token::Kind::text || (after_power && !measured && !is_exponent(token, names))) return false;
      after_power = token.text == "**";
      if (token.kind == Token::Kind::symbol && !is_exact_symbol(token.text, measured)) return false;
      if (token.kind == Token::Kind::number && !measured &&
          token.text.find_first_not_of("0123456789") != std::string_view::npos)
        return false;
      if (token.kind == Token::Kind::name && !kFunctions.contains(token.text) && !names.contains(std::string(token.text)))
        return false;
    }
    return Expression(text).text() == text;
  } catch (const ExpressionError&) {
    return false;
  }
}

/// Returns the value of a quoted text or an integer of Python; nullopt for all else.
std::optional<std::string> literal(std::string_view word) {
  const bool quoted = word.size() >= 2 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front();
  if (quoted) {
    const std::string_view inside = word.substr(1, word.size() - 2);
    return inside.find_first_of("\"'\\$") == std::string_view::npos ? std::optional<std::string>(inside) : std::nullopt;
  }
  const bool integer = Value::from_plain(word).integer().has_value() && word.find_first_of("'\"$([{") == std::string_view::npos;
  return integer ? std::optional<std::string>(word) : std::nullopt;
}

/// Splits a text at separators outside quotes.
std::vector<std::string> outside_quotes(std::string_view text, char separator) {
  std::vector<std::string> parts = {""};
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == separator) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  for (std::string& part : parts) part = std::string(trim(part));
  return parts;
}

/// A choice, `["a", 'b', 3][$i]` or `{"a": 1, "b": 2}["$k"]`: its values by index or key, and the name that chooses.
struct Lookup {
  std::map<std::string, std::string> items;
  std::string chooser;
};

std::optional<Lookup> lookup_in(const std::string& script) {
  const bool is_map = script.starts_with('{');
  const std::size_t end = script.find(is_map ? '}' : ']');
  if ((!is_map && !script.starts_with('[')) || end == std::string::npos) return std::nullopt;
  Lookup lookup;
  std::vector<std::string> entries = outside_quotes(std::string_view(script).substr(1, end - 1), ',');
  if (entries.size() > 1 && entries.back().empty()) entries.pop_back();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::vector<std::string> sides = is_map ? outside_quotes(entries[i], ':') : std::vector<std::string>{"0", entries[i]};
    if (sides.size() != 2) return std::nullopt;
    const std::optional<std::string> key = is_map ? literal(sides.front()) : std::to_string(i);
    const std::optional<std::string> value = literal(sides.back());
    if (!key || !value || (is_map && sides.front() == *key)) return std::nullopt;  // a number as key is never chosen by a text
    lookup.items[*key] = *value;
  }
  const std::vector<JubePiece> pieces = jube_pieces(std::string_view(script).substr(end + 1));
  if (pieces.size() != 3 || !pieces[1].is_name) return std::nullopt;
  const std::string before(trim(pieces[0].text));
  const std::string after(trim(pieces[2].text));
  const bool quoted = (before == "[\"" && after == "\"]") || (before == "['" && after == "']");
  if (is_map ? !quoted : before != "[" || after != "]") return std::nullopt;
  lookup.chooser = pieces[1].text;
  return lookup;
}

bool may_be_negative(const JubeParameter& parameter) {
  return parameter.kind != JubeParameter::Kind::values || std::any_of(parameter.values.begin(), parameter.values.end(),
                                                                      [](const auto& value) { return value.starts_with('-'); });
}

}  // namespace

bool JubeParameters::is_integer(const JubeParameter& parameter) const {
  if (parameter.kind == JubeParameter::Kind::formula) return true;
  return parameter.kind == JubeParameter::Kind::values &&
         std::all_of(parameter.values.begin(), parameter.values.end(), [](const std::string& value) {
           return Value::from_plain(value).integer().has_value() &&
                  Value::from_plain(value).text().find_first_not_of("-0123456789") == std::string::npos;
         });
}

/// Returns the parameter behind one whose value is only another's name: it is written out, and the other has the values.
const JubeParameter* JubeParameters::behind(const JubeParameter* parameter) const {
  for (int depth = 0; parameter != nullptr && depth < kDeepestReference; ++depth) {
    if (parameter->values.size() != 1 || !is_template(*parameter)) return parameter;
    const std::vector<JubePiece> pieces = jube_pieces(parameter->values.front());
    if (pieces.size() != 1) return parameter;
    parameter = find(pieces.front().text);
  }
  return parameter;
}

std::optional<std::string> JubeParameters::expression(const std::string& script, const std::set<std::string>* measured) const {
  std::string text;
  Names names;
  for (const JubePiece& piece : jube_pieces(script)) {
    if (!piece.is_name) {
      text += piece.text;
      continue;
    }
    const JubeParameter* const parameter = behind(find(piece.text));
    const bool metric = measured != nullptr && measured->contains(piece.text);
    if (!metric && (parameter == nullptr || !is_integer(*parameter))) return std::nullopt;
    names[metric ? piece.text : parameter->name] = metric || may_be_negative(*parameter);
    text += metric ? piece.text : parameter->name;
  }
  return is_exact(text, names, measured != nullptr) ? std::optional(text) : std::nullopt;
}

bool JubeParameters::resolve_lookup(JubeParameter& parameter) {
  const std::optional<Lookup> lookup = lookup_in(parameter.values.front());
  const JubeParameter* const index = lookup ? find(lookup->chooser) : nullptr;
  if (index == nullptr || index->kind != JubeParameter::Kind::values || is_template(*index)) return false;
  std::vector<std::string> values;
  for (const std::string& value : index->values) {
    const auto found = lookup->items.find(value);
    if (found == lookup->items.end() || is_cut(parameter, found->second)) return false;
    values.push_back(found->second);
  }
  parameter.kind = JubeParameter::Kind::values;
  parameter.values = values;
  if (index->values.size() > 1) parameter.follows = index->follows.empty() ? index->jube_name : index->follows;
  return true;
}

/// Returns whether JUBE splits the script's result into several values, too.
bool JubeParameters::is_cut(const JubeParameter& parameter, const std::string& value) {
  return !parameter.separator.empty() && value.find(parameter.separator) != std::string::npos;
}

bool JubeParameters::resolve_literal(JubeParameter& parameter) {
  const std::optional<std::string> value = literal(trim(parameter.values.front()));
  if (!value || is_cut(parameter, *value)) return false;
  parameter.kind = JubeParameter::Kind::values;
  parameter.values = {*value};
  return true;
}

void JubeParameters::resolve() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (JubeParameter& parameter : parameters_) {
      if (parameter.kind != JubeParameter::Kind::unfilled || !parameter.is_python || parameter.values.size() != 1) continue;
      if (const auto text = expression(parameter.values.front(), nullptr)) {
        parameter.kind = JubeParameter::Kind::formula;
        parameter.formula = *text;
        changed = true;
      } else {
        changed = resolve_literal(parameter) || resolve_lookup(parameter) || changed;
      }
    }
  }
}

}  // namespace hpcbench
