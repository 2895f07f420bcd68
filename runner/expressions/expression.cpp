#include "expressions/expression.hpp"

#include <fmt/format.h>

#include <compare>
#include <optional>

#include "expressions/operands.hpp"

namespace hpcbench {

namespace {

using Code = Instruction::Code;

std::optional<Operand> operand_of(const Value* value) {
  return value == nullptr ? std::nullopt : std::optional(to_operand(*value));
}
const std::optional<Operand>& operand_of(const std::optional<Operand>& value) { return value; }

/// Runs a program on a stack of operands. `Values` gives the values of its names; a name may have none.
template <class Values>
class Machine {
 public:
  Machine(const ExpressionProgram& program, const Values& values) : program_(program), values_(values) { stack_.reserve(16); }

  Operand run() {
    std::size_t at = 0;
    try {
      for (at = 0; at < program_.steps.size(); ++at) at = step(at, program_.steps[at]);
    } catch (const OperationError& error) {
      throw ExpressionError(program_.steps[at].offset, error.message, error.advice);
    }
    return stack_.back();
  }

 private:
  Operand pop() {
    const Operand top = stack_.back();
    stack_.pop_back();
    return top;
  }

  /// Executes one step. Returns the last step that is done.
  std::size_t step(std::size_t at, const Instruction& each) {
    switch (each.code) {
      case Code::literal:
        stack_.push_back(to_operand(program_.literals[each.argument]));
        return at;
      case Code::name:
        stack_.push_back(value_of(each.argument));
        return at;
      case Code::and_then:
      case Code::or_else:
        if (truth(stack_.back(), each.code == Code::and_then ? "and" : "or") == (each.code == Code::or_else))
          return each.argument - 1;
        stack_.pop_back();
        return at;
      case Code::truth:
        truth(stack_.back(), each.argument == 0 ? "and" : "or");
        return at;
      case Code::negate:
      case Code::plus:
      case Code::logical_not:
      case Code::ceil:
      case Code::floor:
      case Code::round:
      case Code::abs:
      case Code::sqrt:
      case Code::log2:
        stack_.back() = unary(each.code, stack_.back());
        return at;
      case Code::in:
      case Code::not_in:
        membership(each);
        return at;
      case Code::min:
      case Code::max:
        extreme(each);
        return at;
      default:
        binary(each.code);
        return at;
    }
  }

  Operand value_of(std::size_t index) const {
    if (const std::optional<Operand>& operand = operand_of(values_[index])) return *operand;
    throw OperationError{fmt::format("`{}` has no value here", program_.names[index].name)};
  }

  static bool truth(const Operand& operand, const char* who) {
    if (const auto* flag = std::get_if<bool>(&operand)) return *flag;
    throw OperationError{fmt::format("`{}` takes true or false, not {}", who, describe(operand)),
                         is_number(operand) ? "write x != 0" : ""};
  }

  static Operand unary(Code code, const Operand& operand) {
    switch (code) {
      case Code::negate:
        return negate(operand);
      case Code::logical_not:
        return !truth(operand, "not");
      case Code::plus:
        if (!is_number(operand)) throw OperationError{fmt::format("`+` takes a number, not {}", describe(operand))};
        return operand;
      default:
        return call_function(code, operand);
    }
  }

  void binary(Code code) {
    const Operand right = pop();
    Operand& left = stack_.back();
    switch (code) {
      case Code::equal:
        left = are_equal(left, right);
        return;
      case Code::not_equal:
        left = !are_equal(left, right);
        return;
      case Code::less:
        left = std::is_lt(compare_operands(left, right, "<"));
        return;
      case Code::less_equal:
        left = std::is_lteq(compare_operands(left, right, "<="));
        return;
      case Code::greater:
        left = std::is_gt(compare_operands(left, right, ">"));
        return;
      case Code::greater_equal:
        left = std::is_gteq(compare_operands(left, right, ">="));
        return;
      default:
        left = calculate(code, left, right);
    }
  }

  void membership(const Instruction& each) {
    const std::size_t first = stack_.size() - each.argument;
    bool found = false;
    for (std::size_t i = first; i < stack_.size(); ++i) found = found || are_equal(stack_[first - 1], stack_[i]);
    stack_.resize(first);
    stack_.back() = found == (each.code == Code::in);
  }

  /// Takes the first of equal operands, like Python.
  void extreme(const Instruction& each) {
    const std::size_t first = stack_.size() - each.argument;
    const char* const name = each.code == Code::min ? "min" : "max";
    std::size_t best = first;
    for (std::size_t i = first; i < stack_.size(); ++i) {
      if (!is_number(stack_[i])) throw OperationError{fmt::format("`{}` takes numbers, not {}", name, describe(stack_[i]))};
      const auto order = compare_operands(stack_[i], stack_[best], name);
      if (each.code == Code::min ? std::is_lt(order) : std::is_gt(order)) best = i;
    }
    stack_[first] = stack_[best];
    stack_.resize(first + 1);
  }

  const ExpressionProgram& program_;
  const Values& values_;
  std::vector<Operand> stack_;
};

}  // namespace

Expression::Expression(std::string text) : text_(std::move(text)), program_(parse_expression(text_)) {}

Operand Expression::evaluate(const std::vector<const Value*>& values) const { return Machine(program_, values).run(); }

Operand Expression::evaluate(const std::vector<std::optional<Operand>>& values) const {
  return Machine(program_, values).run();
}

Value Expression::value(const std::vector<const Value*>& values) const { return to_value(evaluate(values)); }

bool Expression::holds(const std::vector<const Value*>& values) const {
  const Operand result = evaluate(values);
  if (const auto* flag = std::get_if<bool>(&result)) return *flag;
  throw ExpressionError(0, fmt::format("a condition is true or false, and this is {}", describe(result)),
                        is_number(result) ? "compare it with something: x != 0" : "");
}

}  // namespace hpcbench
