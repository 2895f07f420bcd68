#include "expressions/result_kind.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "expressions/program.hpp"

namespace hpcbench {

namespace {

using Code = Instruction::Code;
using Kind = ResultKind::Kind;

/// Runs a program with kinds in place of values. Both branches of `and` and `or` leave the same stack.
class KindMachine {
 public:
  KindMachine(const ExpressionProgram& program, const std::function<ResultKind(const std::string&)>& kind_of)
      : program_(program), kind_of_(kind_of) {}

  ResultKind run() {
    for (const Instruction& each : program_.steps) step(each);
    return stack_.back();
  }

 private:
  void step(const Instruction& each) {
    switch (each.code) {
      case Code::literal:
        return push(literal_kind(program_.literals[each.argument]));
      case Code::name:
        return push(kind_of_(program_.names[each.argument].name));
      case Code::and_then:
      case Code::or_else:
        stack_.pop_back();
        return;
      case Code::truth:
      case Code::logical_not:
        stack_.back() = {Kind::truth, ""};
        return;
      case Code::negate:
      case Code::plus:
      case Code::ceil:
      case Code::floor:
      case Code::round:
      case Code::abs:
        stack_.back().kind = Kind::number;
        return;
      case Code::sqrt:
      case Code::log2:
        stack_.back() = {Kind::number, ""};
        return;
      case Code::min:
      case Code::max:
        return merge(each, each.argument, Kind::number);
      case Code::in:
      case Code::not_in:
        return merge(each, each.argument + 1, Kind::truth);
      case Code::add:
      case Code::subtract:
      case Code::modulo:
        return merge(each, 2, Kind::number);
      case Code::multiply:
      case Code::divide:
      case Code::floor_divide:
      case Code::power:
        stack_.pop_back();
        stack_.back() = {Kind::number, ""};
        return;
      default:
        return merge(each, 2, Kind::truth);
    }
  }

  void push(ResultKind kind) { stack_.push_back(std::move(kind)); }

  static ResultKind literal_kind(const Literal& literal) {
    if (std::holds_alternative<bool>(literal)) return {Kind::truth, ""};
    return {std::holds_alternative<std::string>(literal) ? Kind::text : Kind::number, ""};
  }

  /// Replaces the last `count` operands by one; all have one unit.
  void merge(const Instruction& each, std::size_t count, Kind kind) {
    std::string unit;
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      const std::string& other = stack_[i].unit;
      if (!unit.empty() && !other.empty() && unit != other) {
        throw ExpressionError(each.offset, fmt::format("this puts {} and {} together, which are different units", unit, other),
                              "convert one of them: a product or a quotient, as in x / 1000, has no stated unit");
      }
      if (unit.empty()) unit = other;
    }
    stack_.resize(stack_.size() - count);
    push({kind, kind == Kind::number ? unit : ""});
  }

  const ExpressionProgram& program_;
  const std::function<ResultKind(const std::string&)>& kind_of_;
  std::vector<ResultKind> stack_;
};

}  // namespace

ResultKind infer_result(const Expression& expression, const std::function<ResultKind(const std::string& name)>& kind_of) {
  const ExpressionProgram program = parse_expression(expression.text());
  return KindMachine(program, kind_of).run();
}

}  // namespace hpcbench
