#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "expressions/program.hpp"

namespace hpcbench {

/// A word of an expression.
struct Token {
  enum class Kind { end, number, text, name, symbol };  // symbol: an operator, a bracket, or one of `and or not in true false`
  Kind kind = Kind::end;
  std::string_view text;   // as written
  std::size_t offset = 0;  // of its first byte
  Literal value = false;   // of a number or a text
};

/// Reads an expression word by word.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}
  /// Returns the next word. ExpressionError if no word begins here.
  Token next();

 private:
  Token number();
  Token quoted();
  Token word();
  Token symbol();
  [[noreturn]] void refuse() const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace hpcbench
