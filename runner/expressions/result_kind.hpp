#pragma once

#include <functional>
#include <string>

#include "expressions/expression.hpp"

namespace hpcbench {

/// The kind of an expression's result, known without any value.
struct ResultKind {
  enum class Kind { unknown, number, truth, text };
  Kind kind = Kind::unknown;
  std::string unit;  // of a number whose names state one: a sum keeps it, a product or quotient has none
};

/// Infers the kind. ExpressionError at an operator that adds, subtracts or compares (also by min and max) numbers of different
/// stated units. `kind_of` returns the kind of a name.
ResultKind infer_result(const Expression& expression, const std::function<ResultKind(const std::string& name)>& kind_of);

}  // namespace hpcbench
