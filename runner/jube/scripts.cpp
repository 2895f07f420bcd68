// Scripts of parameters and patterns that an expression says exactly, and lists that another parameter chooses from.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
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
  static const std::set<std::string_view> kExact = {"+", "-", "*", "//", "%", "(", ")", ","};
  return kExact.contains(symbol) || (measured && symbol == "/");
}

/// Whether Python computes the same: integers alone, for its decimals have more digits and another spelling.
bool is_exact(const std::string& text, const std::set<std::string>& names, bool measured) {
  try {
    Tokens tokens(text);
    for (Token token = tokens.next(); token.kind != Token::Kind::end; token = tokens.next()) {
      if (token.kind == Token::Kind::text) return false;
      if (token.kind == Token::Kind::symbol && !is_exact_symbol(token.text, measured)) return false;
      if (token.kind == Token::Kind::number && !measured &&
          token.text.find_first_not_of("0123456789") != std::string_view::npos)
        return false;
      if (token.kind == Token::Kind::name && token.text != "min" && token.text != "max" &&
          !names.contains(std::string(token.text)))
        return false;
    }
    return Expression(text).text() == text;
  } catch (const ExpressionError&) {
    return false;
  }
}

/// `["a", 'b', 3]`, up to `end`, the place behind the bracket.
std::optional<std::vector<std::string>> literal_list(const std::string& text, std::size_t& end) {
  end = text.find(']');
  if (!text.starts_with('[') || end == std::string::npos) return std::nullopt;
  std::vector<std::string> items;
  for (const std::string& item : split(std::string_view(text).substr(1, end - 1), ',')) {
    std::string_view word = trim(item);
    const bool quoted = word.size() >= 2 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front();
    if (quoted) word = word.substr(1, word.size() - 2);
    if (word.find_first_of("\"'\\$([{") != std::string_view::npos) return std::nullopt;
    if (!quoted && !Value::from_plain(word).integer()) return std::nullopt;
    items.emplace_back(word);
  }
  ++end;
  return items;
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

/// What a parameter stands for that is another's name and nothing else: it is written out, and the other has the values.
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
  std::set<std::string> names;
  for (const JubePiece& piece : jube_pieces(script)) {
    if (!piece.is_name) {
      text += piece.text;
      continue;
    }
    const JubeParameter* const parameter = behind(find(piece.text));
    const bool metric = measured != nullptr && measured->contains(piece.text);
    if (!metric && (parameter == nullptr || !is_integer(*parameter))) return std::nullopt;
    names.insert(metric ? piece.text : parameter->name);
    text += metric ? piece.text : parameter->name;
  }
  return is_exact(text, names, measured != nullptr) ? std::optional(text) : std::nullopt;
}

bool JubeParameters::resolve_lookup(JubeParameter& parameter) {
  std::size_t end = 0;
  const std::string& script = parameter.values.front();
  const std::optional<std::vector<std::string>> items = literal_list(script, end);
  if (!items) return false;
  const std::vector<JubePiece> pieces = jube_pieces(std::string_view(script).substr(end));
  const bool looks_up = pieces.size() == 3 && trim(pieces[0].text) == "[" && pieces[1].is_name && trim(pieces[2].text) == "]";
  const JubeParameter* const index = looks_up ? find(pieces[1].text) : nullptr;
  if (index == nullptr || index->kind != JubeParameter::Kind::values || !index->follows.empty() || !is_integer(*index))
    return false;
  std::vector<std::string> values;
  for (const std::string& value : index->values) {
    const long long at = *Value::from_plain(value).integer();
    if (at < 0 || at >= static_cast<long long>(items->size())) return false;
    values.push_back((*items)[static_cast<std::size_t>(at)]);
  }
  parameter.kind = JubeParameter::Kind::values;
  parameter.values = values;
  parameter.follows = index->values.size() > 1 && !is_template(parameter) ? index->jube_name : "";
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
        changed = resolve_lookup(parameter) || changed;
      }
    }
  }
}

}  // namespace hpcbench
