#pragma once

#include <functional>
#include <string>

#include "expressions/expression.hpp"

namespace hpcbench {

/// The kind of an expression's result, known without any value.
struct ResultKind {
  enum class Kind { unknown, number, truth, text };
  Kind kind = Kind::unknown;
  std::string unit;  // of a number, where its names state one: a sum keeps it, a product or quotient has none
};

/// ExpressionError, at the operator, where numbers of different stated units are added, subtracted or compared (by min and max,
/// too). `kind_of` says what a name is.
ResultKind infer_result(const Expression& expression, const std::function<ResultKind(const std::string& name)>& kind_of);

}  // namespace hpcbench
