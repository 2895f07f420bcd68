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

  /// Any bytes give an expression or an ExpressionError.
  explicit Expression(std::string text);

  const std::string& text() const { return text_; }
  /// The names that it uses, each once, in the order of their first use.
  const std::vector<NameUse>& names() const { return program_.names; }
  const std::vector<LiteralUse>& literal_uses() const { return program_.literal_uses; }

  /// `values[i]` is that of `names()[i]`; null: it has none, which is an error only where it is needed.
  /// ExpressionError: kinds that do not go together, division by zero, a result that 64 bits do not hold.
  Operand evaluate(const std::vector<const Value*>& values) const;
  /// The same with operands: what was measured is a double, even where it is a whole number.
  Operand evaluate(const std::vector<std::optional<Operand>>& values) const;
  /// The result as programs get it: 8/4 is `2`, 1e-4*3 is `0.0003` (15 digits).
  Value value(const std::vector<const Value*>& values) const;
  /// The result of a condition; ExpressionError if it is neither true nor false.
  bool holds(const std::vector<const Value*>& values) const;

 private:
  std::string text_;
  ExpressionProgram program_;
};

}  // namespace hpcbench
