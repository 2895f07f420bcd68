#include "expressions/expression.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

using namespace hpcbench;

namespace {

Value computed_value(const std::string& text, const Bindings& names = {}) {
  const Expression expression(text);
  std::vector<const Value*> values;
  for (const NameUse& use : expression.names()) values.push_back(find_binding(names, use.name));
  return expression.value(values);
}

std::string spelling(const std::string& text, const Bindings& names = {}) { return computed_value(text, names).canonical(); }

/// `offset: message`, and ` = advice` where there is any.
std::string refusal(const std::string& text, const Bindings& names = {}) {
  try {
    return "accepted: " + spelling(text, names);
  } catch (const ExpressionError& error) {
    return fmt::format("{}: {}{}", error.offset(), error.what(), error.advice().empty() ? "" : " = " + error.advice());
  }
}

const Bindings kNames = {{"nodes", Value::from_plain("4")},
                         {"lr", Value::from_plain("1e-4")},
                         {"system", Value::from_text("a100")},
                         {"quoted", Value::from_text("4")},
                         {"flag", Value::from_plain("true")},
                         {"million", Value::from_plain("1e6")},
                         {"huge", Value::from_plain("99999999999999999999")},
                         {"vast", Value::from_plain("1e999")}};

}  // namespace

TEST_CASE("results are spelled as a person would") {
  CHECK(spelling("8/4") == "2");
  CHECK(spelling("1e-4*3") == "0.0003");
  CHECK(spelling("0.1 + 0.2") == "0.3");
  CHECK(spelling("7 / 2") == "3.5");
  CHECK(spelling("1 / 3") == "0.333333333333333");
  CHECK(spelling("-0.0") == "0");
  CHECK(spelling("1e-7 * 2") == "2e-7");
  CHECK(spelling("'a' == 'a'") == "true");
  CHECK(spelling("\"it's\"") == "\"it's\"");
  CHECK(spelling("'it\\'s \\\\'") == "\"it's \\\\\"");
  CHECK(computed_value("3e20 / 7").text() == "4.28571428571429e19");
  CHECK(computed_value("9223372036854775807 * 1.0").text() == "9.22337203685478e18");
  CHECK(spelling("million // 7", kNames) == "142857");
}

TEST_CASE("operators are Python's") {
  CHECK(spelling("1 + 2 * 3 - 4") == "3");
  CHECK(spelling("2 - 3 - 4") == "-5");
  CHECK(spelling("-7 // 2") == "-4");
  CHECK(spelling("7 // -2") == "-4");
  CHECK(spelling("-7 % 3") == "2");
  CHECK(spelling("7 % -3") == "-2");
  CHECK(spelling("-7.5 // 2") == "-4");
  CHECK(spelling("-7.5 % 2") == "0.5");
  CHECK(spelling("6 // 3 / 2") == "1");
  CHECK(spelling("round(2.5) + round(3.5) + round(-0.5)") == "6");
  CHECK(spelling("ceil(1.2) + floor(-1.2) + log2(1024) + min(3, 1, 2) + max(3, 4.5)") == "15.5");
  CHECK(spelling("not nodes == 4 or nodes in [1, 2, 4] and true", kNames) == "true");
  CHECK(spelling("not (true or true) and false") == "false");
  CHECK(spelling("nodes not in [1, 2] and system in ['a100', 3]", kNames) == "true");
  CHECK(spelling("- nodes * -2", kNames) == "8");
  CHECK(spelling("-2 ** 2 + 2 ** -1 * 4") == "-2");
  CHECK(spelling("2 ** 3 ** 2") == "512");
  CHECK(spelling("(-1) ** 9223372036854775807 + 0 ** 0 + (-2) ** 63") == "-9223372036854775808");
  CHECK(spelling("2 ** 0.5 == sqrt(2) and abs(-7) // 2 == 3 and abs(-0.5) == 0.5") == "true");
  CHECK(spelling("floor(sqrt(0.8 * nodes * 64e9 / 8)) // 192 * 192", kNames) == "159936");  // HPL's N: 80 % of 4 x 64 GB
}

TEST_CASE("kinds are told apart, whole numbers from equal decimals not") {
  CHECK(spelling("quoted == 4", kNames) == "false");
  CHECK(spelling("quoted != 4", kNames) == "true");
  CHECK(spelling("flag == 1", kNames) == "false");
  CHECK(spelling("flag == true and flag", kNames) == "true");
  CHECK(spelling("nodes == 4.0", kNames) == "true");
  CHECK(spelling("system < 'b'", kNames) == "true");
  CHECK(spelling("9007199254740993 == 9007199254740992.0") == "false");
  CHECK(spelling("9223372036854775807 < 9223372036854775808.0") == "true");
}

TEST_CASE("the right side of and, or counts only where it decides") {
  CHECK(spelling("nodes > 1 or 1 // 0 == 1", kNames) == "true");
  CHECK(spelling("nodes > 9 and absent == 1", kNames) == "false");
  CHECK(refusal("nodes > 1 and 1 // 0 == 1", kNames) == "16: division by zero");
}

TEST_CASE("what is wrong is said with its place") {
  const std::vector<std::pair<std::string, std::string>> kRefused = {
      {"", "0: an expression is missing here"},
      {"nodes +", "7: the expression ends where a value is needed"},
      {"nodes = 4", "6: `=` is no operator of expressions = write == to compare"},
      {"nodes ^ 2", "6: `^` is no operator of expressions = a power is written a ** b"},
      {"nodes && flag", "6: `&&` is no operator of expressions = write and"},
      {"{{nodes}} * 2", "0: `{{` is no operator of expressions = a name stands by itself: nodes, not {{nodes}}"},
      {"nodes @ 2", "6: `@` means nothing in an expression = docs/expressions.md lists all that does"},
      {"1 < nodes < 4", "10: comparisons do not chain = write a < b and b < c"},
      {"nodes in 4", "9: `in` needs a list = write nodes in [1, 2]"},
      {"nodes in []", "10: this list is empty"},
      {"[1, 2]", "0: a list stands right of `in` alone = write nodes in [1, 2]"},
      {"min(1)", "0: `min` takes two values or more, not 1"},
      {"ceil(1, 2)", "0: `ceil` takes one value, not 2"},
      {"ciel(1.5)",
       "0: there is no function `ciel` (did you mean `ceil`?) = functions: min, max, ceil, floor, round, abs, sqrt, log2"},
      {"(nodes",
       "0: this `(` is never closed = inside {} and [] YAML ends a text at a comma: put quotes around the expression"},
      {"nodes)", "5: `)` closes nothing"},
      {"'abc", "0: this quote is never closed"},
      {"010", "0: `010` is no number = numbers are as in JSON: 8, 0.5, 1e-4; `*` multiplies"},
      {"2nodes", "0: `2nodes` is no number = numbers are as in JSON: 8, 0.5, 1e-4; `*` multiplies"},
      {"9223372036854775808",
       "0: no 64-bit integer holds `9223372036854775808` = a decimal may be larger, and has 15 digits: 1e20"},
      {"nodes 4", "6: an operator is missing before `4` = `*` multiplies, `and` joins conditions, a text has quotes"},
      {"1 if flag else 2", "2: `if` is no operator of expressions = values that differ between points belong into `overrides`"},
      {"nodes == not flag", "9: `not` binds less tightly than the operator before it = put it into parentheses"},
      {"flag == True", "8: `True` is written true here"},
      {"nodes % 0", "6: division by zero"},
      {"nodes / 0.0", "6: division by zero"},
      {"9223372036854775807 + 1",
       "20: the result is larger than a 64-bit integer holds = a decimal is computed as a double: 1.0 * x"},
      {"1e308 * 10", "6: the result is larger than a double holds"},
      {"huge + 1", "0: no 64-bit integer holds 99999999999999999999"},
      {"vast + 1", "0: no double holds 1e999"},
      {"floor(1e300)", "0: no 64-bit integer holds 1e300"},
      {"log2(0)", "0: there is no log2 of 0"},
      {"sqrt(-4)", "0: there is no sqrt of -4"},
      {"(-8) ** 0.5", "5: a negative number, -8, has no power of 0.5"},
      {"0 ** -1", "2: division by zero"},
      {"10 ** 19", "3: the result is larger than a 64-bit integer holds = a decimal is computed as a double: 1.0 * x"},
      {"10.0 ** 309", "5: the result is larger than a double holds"},
      {"2 ** not flag", "5: `not` binds less tightly than the operator before it = put it into parentheses"},
      {"system ** 2", "7: `**` takes numbers, not the text \"a100\""},
      {"system < 3", "7: `<` orders two numbers or two texts, not the text \"a100\" and the number 3"},
      {"flag < true", "5: `<` orders two numbers or two texts, not true and true"},
      {"system + 'x'", "7: `+` takes numbers, not the text \"a100\" = texts are joined where they are used: \"{{a}}-{{b}}\""},
      {"nodes and flag", "6: `and` takes true or false, not the number 4 = write x != 0"},
      {"not nodes", "0: `not` takes true or false, not the number 4 = write x != 0"},
      {"absent + 1", "0: `absent` has no value here"}};
  for (const auto& [text, message] : kRefused) CHECK(refusal(text, kNames) == message);
}

TEST_CASE("a condition is true or false") {
  const Value four = Value::from_plain("4");
  CHECK(Expression("nodes > 3").holds({&four}));
  CHECK_FALSE(Expression("nodes > 4").holds({&four}));
  CHECK_THROWS_WITH_AS(Expression("nodes").holds({&four}), "a condition is true or false, and this is the number 4",
                       ExpressionError);
}

TEST_CASE("names and the literals beside them are known") {
  const Expression expression("nodes == 2 and (3 != nodes or system not in ['x', -1]) and nodes + 1 == 5 and nodes < 9");
  REQUIRE(expression.names().size() == 2);
  CHECK(expression.names()[1].name == "system");
  CHECK(expression.names()[1].offset == 30);
  std::string literals;
  for (const LiteralUse& use : expression.literal_uses())
    literals += fmt::format("{}={}@{} ", use.name, use.literal.canonical(), use.offset);
  CHECK(literals == "nodes=2@9 nodes=3@16 system=\"x\"@45 system=-1@50 ");
}

TEST_CASE("hostile expressions are refused at once") {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  CHECK(refusal(std::string(10'000'000, '(')).starts_with("0: the expression has 10000000 bytes; at most 4096 are read"));
  CHECK(refusal(std::string(4000, '(')).starts_with("50: the expression is nested deeper than 50"));
  CHECK(refusal(std::string(4000, '-') + "1").starts_with("50: the expression is nested deeper than 50"));
  std::string many = "1";
  while (many.size() < 4000) many += "*99999999";
  CHECK(refusal(many).find("the result is larger than a 64-bit integer holds") != std::string::npos);
  std::string sums = "1";
  while (sums.size() < 4000) sums += "+1";
  CHECK(spelling(sums) == "2001");
  CHECK(spelling(std::string(48, '(') + "1" + std::string(48, ')')) == "1");
  CHECK(std::chrono::duration<double>(Clock::now() - started).count() < 5);  // of all of them, on any machine
}
