#include "expressions/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "expressions/expression.hpp"

namespace hpcbench {

namespace {

bool is_figure(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return begins_word(c) || is_figure(c); }

constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "true", "false"};
// Longer symbols first: the first match is taken.
constexpr std::array<std::string_view, 18> kSymbols = {"**", "//", "==", "!=", "<=", ">=", "<", ">", "+",
                                                       "-",  "*",  "/",  "%",  "(",  ")",  "[", "]", ","};

/// A form of another language, and its equivalent here.
struct OtherForm {
  std::string_view text;
  std::string_view advice;
};
constexpr std::array<OtherForm, 8> kOtherForms = {{{"&&", "write and"},
                                                   {"||", "write or"},
                                                   {"{{", "a name stands by itself: nodes, not {{nodes}}"},
                                                   {"=", "write == to compare"},
                                                   {"!", "write not"},
                                                   {"^", "a power is written a ** b"},
                                                   {"?", "values that differ between points belong into `overrides`"},
                                                   {"$", "a name stands by itself: nodes, not $nodes"}}};

}  // namespace

Token Tokens::next() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  if (at_ == text_.size()) return {Token::Kind::end, {}, at_, false};
  const char first = text_[at_];
  if (is_figure(first) || (first == '.' && at_ + 1 < text_.size() && is_figure(text_[at_ + 1]))) return number();
  if (first == '\'' || first == '"') return quoted();
  if (begins_word(first)) return word();
  return symbol();
}

/// Reads JSON's number form without its sign: digits alone are an integer, all else is a decimal.
Token Tokens::number() {
  const std::size_t begin = at_;
  bool decimal = false;
  const auto figures = [&] {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_figure(text_[at_])) ++at_;
    return at_ > first;
  };
  bool good = figures();
  good = good && (text_[begin] != '0' || at_ - begin == 1);
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    decimal = true;
    good = figures() && good;
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    decimal = true;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    good = figures() && good;
  }
  while (at_ < text_.size() && (continues_word(text_[at_]) || text_[at_] == '.')) {
    good = false;
    ++at_;
  }
  const std::string_view written = text_.substr(begin, at_ - begin);
  if (!good) {
    throw ExpressionError(begin, fmt::format("`{}` is no number", written.substr(0, 40)),
                          "numbers are as in JSON: 8, 0.5, 1e-4; `*` multiplies");
  }
  Token token{Token::Kind::number, written, begin, false};
  if (decimal) {
    double number = 0;
    const auto read = std::from_chars(written.data(), written.data() + written.size(), number);
    if (read.ec != std::errc()) throw ExpressionError(begin, fmt::format("no double holds `{}`", written.substr(0, 40)));
    token.value = number;
  } else {
    std::int64_t number = 0;
    const auto read = std::from_chars(written.data(), written.data() + written.size(), number);
    if (read.ec != std::errc()) {
      throw ExpressionError(begin, fmt::format("no 64-bit integer holds `{}`", written.substr(0, 40)),
                            "a decimal may be larger, and has 15 digits: 1e20");
    }
    token.value = number;
  }
  return token;
}

/// Reads a text in single or double quotes; a backslash escapes a quote or a backslash.
Token Tokens::quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  std::string value;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == quote || text_[at_ + 1] == '\\')) ++at_;
    value += text_[at_++];
  }
  if (at_ == text_.size()) throw ExpressionError(begin, "this quote is never closed");
  ++at_;
  return {Token::Kind::text, text_.substr(begin, at_ - begin), begin, std::move(value)};
}

Token Tokens::word() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  const std::string_view written = text_.substr(begin, at_ - begin);
  const bool own = std::find(kWords.begin(), kWords.end(), written) != kWords.end();
  return {own ? Token::Kind::symbol : Token::Kind::name, written, begin, false};
}

Token Tokens::symbol() {
  const std::string_view rest = text_.substr(at_);
  for (const std::string_view symbol : kSymbols) {
    if (!rest.starts_with(symbol)) continue;
    const Token token{Token::Kind::symbol, rest.substr(0, symbol.size()), at_, false};
    at_ += symbol.size();
    return token;
  }
  refuse();
}

void Tokens::refuse() const {
  const std::string_view rest = text_.substr(at_);
  for (const OtherForm& form : kOtherForms) {
    if (rest.starts_with(form.text))
      throw ExpressionError(at_, fmt::format("`{}` is no operator of expressions", form.text), std::string(form.advice));
  }
  std::size_t length = 1;  // of a character, not of a byte
  while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xC0U) == 0x80U) ++length;
  throw ExpressionError(at_, fmt::format("`{}` means nothing in an expression", rest.substr(0, length)),
                        "docs/expressions.md lists all that does");
}

}  // namespace hpcbench
