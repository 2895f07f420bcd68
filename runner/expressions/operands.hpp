#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/value.hpp"
#include "expressions/program.hpp"

namespace hpcbench {

/// The error of an operation, before its place is known.
struct OperationError {
  std::string message;
  std::string advice = {};
};

/// Returns the value of a name. A whole number is an integer in every spelling. OperationError if 64 bits do not hold it.
Operand to_operand(const Value& value);
Operand to_operand(const Literal& literal);
/// Returns the usual spelling: 15 digits, no trailing zeros.
Value to_value(const Operand& operand);

bool is_number(const Operand& operand);
/// Returns a number as a double.
double to_double(const Operand& number);
/// Returns a description for messages: `the number 3`, `the text "abc"`, `true`.
std::string describe(const Operand& operand);

/// Returns true for equal numbers (exactly: no integer is rounded), texts or booleans; different kinds are never equal.
bool are_equal(const Operand& a, const Operand& b);
/// Compares two numbers or two texts; OperationError for all else. `sign` is the operator, for the message.
std::strong_ordering compare_operands(const Operand& a, const Operand& b, const std::string& sign);

/// Computes `+ - * / // % **` of two numbers like Python; OperationError for a zero divisor, an overflow, and roots of negative
/// numbers.
Operand calculate(Instruction::Code code, const Operand& a, const Operand& b);
Operand negate(const Operand& operand);
/// Computes ceil, floor, round (half to even, like Python), abs, sqrt, log2.
Operand call_function(Instruction::Code code, const Operand& operand);

}  // namespace hpcbench
