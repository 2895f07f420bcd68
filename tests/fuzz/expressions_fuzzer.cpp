// Any bytes are an expression or an ExpressionError; an expression gives a value or an ExpressionError, and the value is an
// expression again: the text for programs reads back as the computed value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "expressions/expression.hpp"
#include "expressions/operands.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hpcbench;
  const std::vector<Value> pool = {Value::from_plain("7"),
                                   Value::from_plain("0.5"),
                                   Value::from_plain("true"),
                                   Value::from_text("abc"),
                                   Value::from_plain("-9223372036854775808"),
                                   Value::from_plain("0")};
  try {
    const Expression expression(std::string(reinterpret_cast<const char*>(data), size));
    std::vector<const Value*> values;
    for (std::size_t i = 0; i < expression.names().size(); ++i) values.push_back(&pool[i % pool.size()]);
    const Value value = expression.value(values);
    if (!are_equal(to_operand(value), to_operand(to_value(to_operand(value))))) std::abort();
  } catch (const ExpressionError& error) {
    if (error.offset() > size) std::abort();
  }
  return 0;
}
