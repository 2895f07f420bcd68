// A Pratt parser (V. Pratt, Top down operator precedence, 1973): each operator binds as tightly as Python's of that name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "expressions/expression.hpp"
#include "expressions/operands.hpp"
#include "expressions/tokens.hpp"

namespace hpcbench {

namespace {

using Code = Instruction::Code;

/// Precedence of operators; operators of one level associate from left to right, kPower from right to left.
enum Level : int { kAnything = 0, kOr = 1, kAnd = 2, kNot = 3, kComparison = 4, kSum = 5, kProduct = 6, kSign = 7, kPower = 8 };

struct Operator {
  std::string_view text;
  Level level;
  Code code;
};
constexpr std::array<Operator, 17> kOperators = {{{"or", kOr, Code::or_else},
                                                  {"and", kAnd, Code::and_then},
                                                  {"==", kComparison, Code::equal},
                                                  {"!=", kComparison, Code::not_equal},
                                                  {"<", kComparison, Code::less},
                                                  {"<=", kComparison, Code::less_equal},
                                                  {">", kComparison, Code::greater},
                                                  {">=", kComparison, Code::greater_equal},
                                                  {"in", kComparison, Code::in},
                                                  {"not", kComparison, Code::not_in},
                                                  {"+", kSum, Code::add},
                                                  {"-", kSum, Code::subtract},
                                                  {"*", kProduct, Code::multiply},
                                                  {"/", kProduct, Code::divide},
                                                  {"//", kProduct, Code::floor_divide},
                                                  {"%", kProduct, Code::modulo},
                                                  {"**", kPower, Code::power}}};

struct Function {
  std::string_view name;
  Code code;
  bool several;  // at least two arguments; else one
};
constexpr std::array<Function, 8> kFunctions = {{{"min", Code::min, true},
                                                 {"max", Code::max, true},
                                                 {"ceil", Code::ceil, false},
                                                 {"floor", Code::floor, false},
                                                 {"round", Code::round, false},
                                                 {"abs", Code::abs, false},
                                                 {"sqrt", Code::sqrt, false},
                                                 {"log2", Code::log2, false}}};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) { advance(); }

  ExpressionProgram parse() {
    if (token_.kind == Token::Kind::end) fail(token_, "an expression is missing here");
    expression(kAnything);
    if (is(")") || is("]")) fail(token_, fmt::format("`{}` closes nothing", token_.text));
    if (token_.kind != Token::Kind::end) fail_at_operator();
    return std::move(program_);
  }

 private:
  bool is(std::string_view symbol) const { return token_.kind == Token::Kind::symbol && token_.text == symbol; }
  void advance() { token_ = tokens_.next(); }

  [[noreturn]] static void fail(const Token& at, const std::string& message, const std::string& advice = "") {
    throw ExpressionError(at.offset, message, advice);
  }

  [[noreturn]] void fail_at_operator() {
    if (token_.text == "if")
      fail(token_, "`if` is no operator of expressions", "values that differ between points belong into `overrides`");
    fail(token_, fmt::format("an operator is missing before `{}`", token_.text.substr(0, 40)),
         "`*` multiplies, `and` joins conditions, a text has quotes");
  }

  void emit(Code code, std::size_t offset, std::size_t argument = 0) {
    program_.steps.push_back({code, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(argument)});
  }

  void expression(int level) {
    if (++depth_ > Expression::kMostDepth) {
      fail(token_, fmt::format("the expression is nested deeper than {}", Expression::kMostDepth),
           "derive a part of it by name");
    }
    const std::size_t left = program_.steps.size();
    operand(level);
    while (const Operator* infix = find_operator()) {
      if (infix->level < level || infix->level < kOr) break;
      const Token at = token_;
      advance();
      binary(*infix, at, left);
    }
    --depth_;
  }

  const Operator* find_operator() const {
    if (token_.kind != Token::Kind::symbol) return nullptr;
    const auto found =
        std::find_if(kOperators.begin(), kOperators.end(), [&](const Operator& each) { return each.text == token_.text; });
    return found == kOperators.end() ? nullptr : &*found;
  }

  /// Parses the right side of an operator whose left side begins at the step `left`.
  void binary(const Operator& infix, const Token& at, std::size_t left) {
    if (infix.code == Code::in || infix.code == Code::not_in) {
      membership(infix.code, at, left);
    } else if (infix.code == Code::and_then || infix.code == Code::or_else) {
      const std::size_t jump = program_.steps.size();
      emit(infix.code, at.offset);
      expression(infix.level + 1);
      emit(Code::truth, at.offset, infix.code == Code::or_else ? 1 : 0);
      program_.steps[jump].argument = static_cast<std::uint32_t>(program_.steps.size());
    } else {
      const std::size_t right = program_.steps.size();
      expression(infix.level == kPower ? kPower : infix.level + 1);
      if (infix.code == Code::equal || infix.code == Code::not_equal) {
        note_literal(left, right, right, program_.steps.size());
        note_literal(right, program_.steps.size(), left, right);
      }
      emit(infix.code, at.offset);
    }
    if (infix.level != kComparison) return;
    const Operator* next = find_operator();
    if (next != nullptr && next->level == kComparison) fail(token_, "comparisons do not chain", "write a < b and b < c");
  }

  void membership(Code code, const Token& at, std::size_t left) {
    if (code == Code::not_in) {
      if (!is("in")) fail(at, "`not` stands before what it denies, or in `not in`");
      advance();
    }
    if (!is("[")) fail(token_.kind == Token::Kind::end ? at : token_, "`in` needs a list", "write nodes in [1, 2]");
    const Token open = token_;
    advance();
    const std::size_t left_end = program_.steps.size();
    std::size_t count = 0;
    do {
      if (count > 0) advance();
      if (is("]")) fail(token_, count == 0 ? "this list is empty" : "a value is missing here");
      const std::size_t begin = program_.steps.size();
      expression(kAnything);
      note_literal(left, left_end, begin, program_.steps.size());
      ++count;
    } while (is(","));
    close("]", open);
    emit(code, at.offset, count);
  }

  /// Records a comparison of `[left, left_end)` with `[right, right_end)` if these are a name and a literal.
  void note_literal(std::size_t left, std::size_t left_end, std::size_t right, std::size_t right_end) {
    if (left_end - left != 1 || right_end - right != 1) return;
    const Instruction& name = program_.steps[left];
    const Instruction& literal = program_.steps[right];
    if (name.code != Code::name || literal.code != Code::literal) return;
    program_.literal_uses.push_back(
        {program_.names[name.argument].name, to_value(to_operand(program_.literals[literal.argument])), literal.offset});
  }

  void operand(int level) {
    const Token token = token_;
    switch (token.kind) {
      case Token::Kind::end:
        fail(token, "the expression ends where a value is needed");
      case Token::Kind::number:
      case Token::Kind::text:
        advance();
        push_literal(token.value, token.offset);
        return;
      case Token::Kind::name:
        advance();
        is("(") ? call(token) : push_name(token);
        return;
      case Token::Kind::symbol:
        prefix(token, level);
    }
  }

  void prefix(const Token& token, int level) {
    advance();
    if (token.text == "true" || token.text == "false") {
      push_literal(token.text == "true", token.offset);
    } else if (token.text == "(") {
      expression(kAnything);
      close(")", token);
    } else if (token.text == "not") {
      if (level > kNot) fail(token, "`not` binds less tightly than the operator before it", "put it into parentheses");
      expression(kNot);
      emit(Code::logical_not, token.offset);
    } else if (token.text == "-" || token.text == "+") {
      expression(kSign);
      if (!negate_literal(token)) emit(token.text == "-" ? Code::negate : Code::plus, token.offset);
    } else if (token.text == "[") {
      fail(token, "a list stands right of `in` alone", "write nodes in [1, 2]");
    } else {
      fail(token, fmt::format("a value is missing before `{}`", token.text));
    }
  }

  /// `-1` is a literal like `1`.
  bool negate_literal(const Token& sign) {
    Instruction& last = program_.steps.back();
    if (last.code != Code::literal || sign.text != "-") return false;
    Literal& literal = program_.literals[last.argument];
    last.offset = static_cast<std::uint32_t>(sign.offset);
    if (auto* integer = std::get_if<std::int64_t>(&literal)) {
      *integer = -*integer;  // no literal is the least integer
    } else if (auto* number = std::get_if<double>(&literal)) {
      *number = -*number;
    } else {
      return false;
    }
    return true;
  }

  void call(const Token& name) {
    const Token open = token_;
    const auto found =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& each) { return each.name == name.text; });
    if (found == kFunctions.end()) {
      std::vector<std::string> names;
      for (const Function& each : kFunctions) names.emplace_back(each.name);
      const std::string word(name.text.substr(0, 40));
      fail(name, fmt::format("there is no function `{}`{}", word, did_you_mean(word, names)),
           "functions: " + join(names, ", "));
    }
    advance();
    std::size_t count = 0;
    do {
      if (count > 0) advance();
      if (is(")")) break;
      expression(kAnything);
      ++count;
    } while (is(","));
    close(")", open);
    if (found->several ? count < 2 : count != 1) {
      fail(name, fmt::format("`{}` takes {}, not {}", name.text, found->several ? "two values or more" : "one value", count));
    }
    emit(found->code, name.offset, count);
  }

  void close(std::string_view bracket, const Token& open) {
    if (is(bracket)) return advance();
    if (token_.kind == Token::Kind::end) {
      fail(open, fmt::format("this `{}` is never closed", open.text),
           "inside {} and [] YAML ends a text at a comma: put quotes around the expression");
    }
    fail_at_operator();
  }

  void push_literal(const Literal& value, std::size_t offset) {
    emit(Code::literal, offset, program_.literals.size());
    program_.literals.push_back(value);
  }

  void push_name(const Token& token) {
    for (const auto& [written, meant] : {std::pair("True", "true"), std::pair("False", "false")}) {
      if (token.text == written) fail(token, fmt::format("`{}` is written {} here", written, meant));
    }
    std::vector<NameUse>& names = program_.names;
    const auto known = std::find_if(names.begin(), names.end(), [&](const NameUse& each) { return each.name == token.text; });
    emit(Code::name, token.offset, static_cast<std::size_t>(known - names.begin()));
    if (known == names.end()) names.push_back({std::string(token.text), token.offset});
  }

  Tokens tokens_;
  Token token_;
  int depth_ = 0;
  ExpressionProgram program_;
};

}  // namespace

ExpressionProgram parse_expression(std::string_view text) {
  if (text.size() > Expression::kMostBytes) {
    throw ExpressionError(0,
                          fmt::format("the expression has {} bytes; at most {} are read", text.size(), Expression::kMostBytes),
                          "derive parts of it by name");
  }
  return Parser(text).parse();
}

}  // namespace hpcbench
