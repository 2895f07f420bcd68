#include "report/digits.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

using namespace hpcbench;

TEST_CASE("rounding at a power of ten: in exponent form only what is longer than a column") {
  CHECK(round_at(1234.56, -1) == "1234.6");
  CHECK(round_at(1234.56, 0) == "1235");
  CHECK(round_at(1234.56, 1) == "1230");
  CHECK(round_at(-0.001, -2) == "0.00");
  CHECK(round_at(0, -2) == "0.00");
  CHECK(round_at(-12.34, -1) == "-12.3");
  CHECK(round_at(3e20, 18) == "300000000000000000000");
  CHECK(round_at(-3.14159e21, 19) == "-3.14e+21");  // 22 digits, of which the last five were not the value's
  CHECK(round_at(1.7e308, 307) == "1.7e+308");
  CHECK(round_at(4e22, 25) == "0");
  CHECK(round_at(1.3e-17, -18) == "0.000000000000000013");
  CHECK(round_at(1.234e-18, -20) == "1.23e-18");
  CHECK(round_at(0, -310) == "0");
}

TEST_CASE("without an interval three significant digits") {
  CHECK(three_digits(std::nullopt) == "-");
  CHECK(three_digits(0.0) == "0");
  CHECK(three_digits(0.012345) == "0.0123");
  CHECK(three_digits(9.996) == "10.0");  // and not 10.00: rounding moved the first digit
  CHECK(three_digits(999.6) == "1000");
  CHECK(three_digits(123456) == "123000");
  CHECK(three_digits(-0.5) == "-0.500");
  CHECK(three_digits(5e-324) == "4.94e-324");  // whose unit is 0
  CHECK(exponent_for_interval(0, -1.7e308, 1.7e308) == 307);
}

TEST_CASE("with an interval: the last digit is at most half its half width") {
  CHECK(exponent_for_interval(12.34, 12.14, 12.54) == -1);                // half width 0.2
  CHECK(exponent_for_interval(12.34, 12.15, 12.53) == -2);                // 0.19
  CHECK(exponent_for_interval(12.34, 10.34, 14.34) == 0);                 // 2
  CHECK(exponent_for_interval(1234, 1184, 1284) == 1);                    // 50: tens
  CHECK(exponent_for_interval(12.34, 12.34 - 1e-9, 12.34 + 1e-9) == -3);  // never more than five digits
  CHECK(exponent_for_interval(12.34, 12.34, 12.34) == -1);                // no width: three digits
}

TEST_CASE("ratios: at most two decimals, and one below 10") {
  CHECK(exponent_for_ratio(1.9858, std::nullopt) == -2);
  CHECK(exponent_for_ratio(0.12345, std::nullopt) == -2);
  CHECK(exponent_for_ratio(19.858, std::nullopt) == -1);
  CHECK(exponent_for_ratio(198.58, std::nullopt) == 0);
  CHECK(exponent_for_ratio(1.9, Interval{1.89, 1.91, 0.95}) == -2);
  CHECK(exponent_for_ratio(1.9, Interval{0.5, 7.1, 0.95}) == -1);
  CHECK(exponent_for_ratio(150, Interval{100, 200, 0.95}) == 1);
}

TEST_CASE("digits that a program printed") {
  CHECK(last_exponent(36) == 0);
  CHECK(last_exponent(1.25) == -2);
  CHECK(last_exponent(1e22) == 22);
  CHECK(last_exponent(1.5e-7) == -8);
}

TEST_CASE("the worked examples of docs/statistics.md: `rounded VALUE LOW HIGH => TEXT`") {
  std::ifstream file(std::string(HPCBENCH_SOURCE_DIR) + "/docs/statistics.md");
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream example(line);
    std::string word;
    if (!(example >> word) || word != "rounded") continue;
    double value = 0;
    double low = 0;
    double high = 0;
    std::string arrow;
    std::string text;
    if (!(example >> value >> low >> high >> arrow >> text) || arrow != "=>") continue;
    CHECK(round_at(value, exponent_for_interval(value, low, high)) == text);
    ++checked;
  }
  CHECK(checked == 3);
}
