#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/value.hpp"
#include "expressions/program.hpp"

namespace hpcbench {

// The language of `derive`, `require`, and of conditions written as a text: Python's operators and precedence, CEL's strictness
// (docs/expressions.md). It computes from values to a value: no files, no shell, no time.

/// An error of an expression or of its computation. `what()` is the message, `offset()` the byte of the text.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::size_t offset, const std::string& message, std::string advice = "")
      : std::runtime_error(message), offset_(offset), advice_(std::move(advice)) {}
  std::size_t offset() const { return offset_; }
  const std::string& advice() const { return advice_; }

 private:
  std::size_t offset_;
  std::string advice_;
};

/// A parsed expression. Immutable; evaluating it allocates almost nothing.
class Expression {
 public:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr int kMostDepth = 50;

  /// Parses any bytes; ExpressionError if they are no expression.
  explicit Expression(std::string text);

  const std::string& text() const { return text_; }
  /// Returns the names in the expression, each once, in the order of their first use.
  const std::vector<NameUse>& names() const { return program_.names; }
  const std::vector<LiteralUse>& literal_uses() const { return program_.literal_uses; }

  /// Evaluates the expression. `values[i]` belongs to `names()[i]`; null: the name has no value, which is an error only if the
  /// value is needed. ExpressionError: operands of wrong kinds, division by zero, a result that 64 bits do not hold.
  Operand evaluate(const std::vector<const Value*>& values) const;
  /// Evaluates with operands: a measured value is a double, even if it is a whole number.
  Operand evaluate(const std::vector<std::optional<Operand>>& values) const;
  /// Returns the result in the spelling for programs: 8/4 is `2`, 1e-4*3 is `0.0003` (15 digits).
  Value value(const std::vector<const Value*>& values) const;
  /// Returns the result of a condition; ExpressionError if it is neither true nor false.
  bool holds(const std::vector<const Value*>& values) const;

 private:
  std::string text_;
  ExpressionProgram program_;
};

}  // namespace hpcbench
