#include "spec/located_expression.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/error.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

bool is_blank_byte(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The byte of `source` that the byte `wanted` of a scalar's text was read from: quotes, their escapes and folded lines lie
/// between. `begin` is that of the scalar; where the way is lost, its first byte answers.
std::size_t offset_in_source(std::string_view source, std::size_t begin, bool quoted, std::string_view text,
                             std::size_t wanted) {
  const char quote = quoted && begin < source.size() && (source[begin] == '\'' || source[begin] == '"') ? source[begin] : '\0';
  std::size_t at = begin;
  if (quote != '\0') {
    ++at;
  } else if (quoted) {
    at = source.find('\n', begin) + 1;  // a block text begins below its `|` or `>`
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    while (at < source.size() && is_blank_byte(source[at]) && source[at] != text[i] && !is_blank_byte(text[i])) ++at;
    if (quote == '"' && at < source.size() && source[at] == '\\') ++at;
    if (i == wanted) return at < source.size() ? at : begin;
    if (is_blank_byte(text[i])) {
      while (at < source.size() && is_blank_byte(source[at]) && (i + 1 == text.size() || !is_blank_byte(text[i + 1]))) ++at;
      continue;
    }
    if (at >= source.size() || source[at] != text[i]) return begin;
    at += quote == '\'' && text[i] == '\'' ? 2 : 1;
  }
  return at <= source.size() ? at : begin;
}

}  // namespace

LocatedExpression::LocatedExpression(std::shared_ptr<const Expression> expression, const YamlNode& node)
    : expression_(std::move(expression)),
      source_(node.location.source->shared_from_this()),
      offset_(node.location.offset),
      quoted_(node.quoted) {}

std::optional<LocatedExpression> LocatedExpression::read(const YamlNode& node, const std::string& what,
                                                         Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_text(node, what, diagnostics);
  if (!text) return std::nullopt;
  try {
    return LocatedExpression(std::make_shared<const Expression>(*text), node);
  } catch (const ExpressionError& error) {
    const std::size_t offset =
        offset_in_source(node.location.source->text(), node.location.offset, node.quoted, *text, error.offset());
    diagnostics.add({node.location.source, offset}, error.what(), error.advice());
    return std::nullopt;
  }
}

LocatedExpression LocatedExpression::parse(const std::string& text, const std::string& name) {
  const auto source = std::make_shared<const YamlSource>(name, text);
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  node.location = {source.get(), 0};
  try {
    return {std::make_shared<const Expression>(text), node};
  } catch (const ExpressionError& error) {
    throw InputError(located_message({source.get(), error.offset()}, error.what(), error.advice()));
  }
}

SourceLocation LocatedExpression::location(std::size_t offset) const {
  return {source_.get(), offset_in_source(source_->text(), offset_, quoted_, expression_->text(), offset)};
}

std::string LocatedExpression::describe(const ExpressionError& error, const std::string& point) const {
  const std::string of_point = point.empty() ? "" : " (for " + point + ')';
  return located_message(location(error.offset()), error.what() + of_point, error.advice());
}

}  // namespace hpcbench
