#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

/// What an expression computes with. A text belongs to whoever gave it.
using Operand = std::variant<bool, std::int64_t, double, std::string_view>;

/// A name where it is first used.
struct NameUse {
  std::string name;
  std::size_t offset = 0;
};

/// `name == 2`, `name in [1, 2]`: what a name is compared with, one entry a literal.
struct LiteralUse {
  std::string name;
  Value literal;
  std::size_t offset = 0;
};

/// One step of a stack machine. `argument` is an index of a literal or a name, a number of operands, or the step to go on with.
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
    and_then,  // false stays and ends it; true makes room for what follows
    or_else,   // the other way round
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
  std::uint32_t offset = 0;  // in the text: where to point if it fails
  std::uint32_t argument = 0;
};

/// A literal that owns its text.
using Literal = std::variant<bool, std::int64_t, double, std::string>;

/// An expression ready to run: no recursion, however long it is.
struct ExpressionProgram {
  std::vector<Instruction> steps;
  std::vector<Literal> literals;
  std::vector<NameUse> names;
  std::vector<LiteralUse> literal_uses;
};

/// Parses an expression (parse.cpp). ExpressionError for anything else.
ExpressionProgram parse_expression(std::string_view text);

}  // namespace hpcbench
