#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

/// An operand of an expression. The caller owns its text.
using Operand = std::variant<bool, std::int64_t, double, std::string_view>;

/// A name at its first use.
struct NameUse {
  std::string name;
  std::size_t offset = 0;
};

/// A literal that a name is compared with, one entry each: `name == 2`, `name in [1, 2]`.
struct LiteralUse {
  std::string name;
  Value literal;
  std::size_t offset = 0;
};

/// One step of a stack machine. `argument` is the index of a literal or a name, a number of operands, or the next step.
struct Instruction {
  enum class Code {
    literal,
    name,
    negate,
    plus,
    logical_not,
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in,
    and_then,  // false stays and ends it; true is replaced by the following operand
    or_else,   // the reverse
    truth,     // the right side of and, or: must be true or false
    min,
    max,
    ceil,
    floor,
    round,
    abs,
    sqrt,
    log2
  };
  Code code = Code::literal;
  std::uint32_t offset = 0;  // in the text: the place of its errors
  std::uint32_t argument = 0;
};

/// A literal that owns its text.
using Literal = std::variant<bool, std::int64_t, double, std::string>;

/// An expression ready to run, without recursion whatever its length.
struct ExpressionProgram {
  std::vector<Instruction> steps;
  std::vector<Literal> literals;
  std::vector<NameUse> names;
  std::vector<LiteralUse> literal_uses;
};

/// Parses an expression (parse.cpp). ExpressionError for anything else.
ExpressionProgram parse_expression(std::string_view text);

}  // namespace hpcbench
