#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/value.hpp"
#include "expressions/program.hpp"

namespace hpcbench {

/// What is wrong with an operation, before its place is known.
struct OperationError {
  std::string message;
  std::string advice = {};
};

/// The value of a name. A whole number is an integer, however it is spelled. OperationError for what 64 bits do not hold.
Operand to_operand(const Value& value);
Operand to_operand(const Literal& literal);
/// The spelling a person would choose: 15 digits, no trailing zeros.
Value to_value(const Operand& operand);

bool is_number(const Operand& operand);
/// A number as a double.
double to_double(const Operand& number);
/// `the number 3`, `the text "abc"`, `true`: for messages.
std::string describe(const Operand& operand);

/// True for equal numbers (exactly: no integer is rounded), texts, booleans; operands of different kinds are never equal.
bool are_equal(const Operand& a, const Operand& b);
/// Two numbers or two texts; OperationError for all else. `sign` is the operator, for the message.
std::strong_ordering compare_operands(const Operand& a, const Operand& b, const std::string& sign);

/// `+ - * / // % **` of two numbers as Python has them; OperationError for zero divisors, what does not fit, and roots of
/// negative numbers.
Operand calculate(Instruction::Code code, const Operand& a, const Operand& b);
Operand negate(const Operand& operand);
/// ceil, floor, round (half to even, as Python's), abs, sqrt, log2.
Operand call_function(Instruction::Code code, const Operand& operand);

}  // namespace hpcbench
