// 100,000 generated expressions, computed here and by Python's own evaluator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "expressions/expression.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

namespace {

/// Expressions of all that the language has, mostly well typed.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string number(int depth) {
    switch (depth <= 0 ? below(5) : below(13)) {
      case 0:
        return std::to_string(below(20));
      case 1:
        return one_of({"0.5", "1e-4", "2.75", "3.0", "1e18", "0", "9223372036854775807", "4611686018427387904"});
      case 2:
      case 3:
      case 4:
        return one_of({"a", "b", "c", "d", "e"});
      case 5:
        return "-" + number(depth - 1);
      case 6:
        return "(" + number(depth - 1) + ")";
      case 7:
        return one_of({"min", "max"}) + "(" + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 8:
        return one_of({"ceil", "floor", "round", "abs", "sqrt", "log2"}) + "(" + number(depth - 1) + ")";
      default:
        return number(depth - 1) + one_of({" + ", " - ", " * ", " / ", " // ", " % ", " ** ", "*", "//", "**"}) +
               number(depth - 1);
    }
  }

  std::string truth(int depth) {
    switch (depth <= 0 ? below(3) : below(10)) {
      case 0:
        return one_of({"true", "false", "f"});
      case 1:
        return one_of({"t == 'abc'", "t < 'b'", "t in ['x', \"abc\"]", "t == 3", "a < t", "f == 1", "not a"});
      case 2:
      case 3:
        return number(depth - 1) + one_of({" == ", " != ", " < ", " <= ", " > ", " >= "}) + number(depth - 1);
      case 4:
        return number(depth - 1) + one_of({" in ", " not in "}) + "[" + number(depth - 1) + ", " + number(depth - 1) + "]";
      case 5:
        return "not " + truth(depth - 1);
      case 6:
        return "(" + truth(depth - 1) + ")";
      default:
        return truth(depth - 1) + one_of({" and ", " or "}) + truth(depth - 1);
    }
  }

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

 private:
  std::string one_of(const std::vector<std::string>& texts) {
    return texts[static_cast<std::size_t>(below(static_cast<int>(texts.size())))];
  }

  std::mt19937_64 random_;
};

std::string spelled(const Operand& operand) {
  if (const auto* flag = std::get_if<bool>(&operand)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&operand)) return fmt::format("int {}", *integer);
  if (const auto* number = std::get_if<double>(&operand)) return fmt::format("decimal {:.17g}", *number);
  return fmt::format("str {}", std::get<std::string_view>(operand));
}

std::string computed(const std::string& text) {
  const Bindings names = {{"a", Value::from_plain("7")},
                          {"b", Value::from_plain("-3")},
                          {"c", Value::from_plain("0.5")},
                          {"d", Value::from_plain("0")},
                          {"e", Value::from_plain("9223372036854775807")},
                          {"t", Value::from_text("abc")},
                          {"f", Value::from_plain("true")}};
  try {
    const Expression expression(text);
    std::vector<const Value*> values;
    for (const NameUse& use : expression.names()) values.push_back(find_binding(names, use.name));
    return spelled(expression.evaluate(values));
  } catch (const ExpressionError&) {
    return "error";
  }
}

}  // namespace

TEST_CASE("100,000 expressions give what Python gives") {
  const TemporaryFolder folder;
  const std::string input = folder.path() / "expressions";
  const std::string output = folder.path() / "answers";
  constexpr int kCount = 100'000;
  std::vector<std::string> expressions;
  Generator generator(1);
  {
    std::ofstream file(input);
    for (int i = 0; i < kCount; ++i) {
      expressions.push_back(i % 3 == 0 ? generator.truth(1 + i % 4) : generator.number(1 + i % 5));
      file << expressions.back() << '\n';
    }
  }
  const std::string oracle = std::string(HPCBENCH_SOURCE_DIR) + "/tests/runner/expressions/oracle.py";
  REQUIRE(std::system(fmt::format("python3 -W ignore '{}' < '{}' > '{}'", oracle, input, output).c_str()) == 0);
  std::ifstream answers(output);
  std::string answer;
  int compared = 0, errors = 0, different = 0;
  for (; std::getline(answers, answer); ++compared) {
    const std::string ours = computed(expressions[static_cast<std::size_t>(compared)]);
    errors += answer == "error" ? 1 : 0;
    if (ours == answer) continue;
    if (++different > 10) continue;
    FAIL_CHECK(expressions[static_cast<std::size_t>(compared)] << "\n  is   " << ours << "\n  not  " << answer);
  }
  CHECK(compared == kCount);
  CHECK(different == 0);
  CHECK(errors > kCount / 100);  // both sides of the rules are met
  CHECK(errors < 2 * kCount / 3);
}
