#include "report/digits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hpcbench {
namespace {

constexpr double kLogTolerance = 1e-9;  // log10 of an intended 0.1 may be a little below -1

// Beyond these, plain digits are longer than a column, and those after the 17th are not the value's.
constexpr double kMostPlain = 1e21;
constexpr int kLeastPlain = -18;

int leading_exponent(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)) + kLogTolerance)); }

int significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const int exponent = leading_exponent(value) - digits + 1;
  const double unit = std::pow(10.0, exponent);
  if (unit == 0) return exponent;  // of the smallest doubles
  // 9.996 rounds to 10.0, whose last digit is one place higher.
  return leading_exponent(std::round(value / unit) * unit) - digits + 1;
}

}  // namespace

int exponent_without_interval(double value) { return significant(value, 3); }

int exponent_for_interval(double value, double low, double high) {
  const double half_width = high / 2 - low / 2;
  if (!(half_width > 0)) return exponent_without_interval(value);
  return std::max(leading_exponent(half_width / 2), significant(value, 5));
}

int exponent_for_ratio(double value, const std::optional<Interval>& interval) {
  const int exponent =
      interval ? exponent_for_interval(value, interval->low, interval->high) : exponent_without_interval(value);
  return std::clamp(exponent, -2, std::abs(value) < 10 ? -1 : std::max(exponent, -2));
}

int last_exponent(double value) {
  const std::string text = fmt::format("{}", value);
  const std::size_t e = text.find('e');
  const int shift = e == std::string::npos ? 0 : std::atoi(text.c_str() + e + 1);
  const std::string mantissa = text.substr(0, e);
  const std::size_t point = mantissa.find('.');
  return shift - (point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1));
}

std::string round_at(double value, int exponent) {
  const bool is_lengthy = std::abs(value) >= kMostPlain || exponent < kLeastPlain;
  if (is_lengthy && std::isfinite(value)) {
    if (value == 0 || std::abs(value) / std::pow(10.0, exponent) < 0.5) return "0";
    return fmt::format("{:.{}e}", value, std::max(0, leading_exponent(value) - exponent));
  }
  std::string text;
  if (exponent <= 0) {
    text = fmt::format("{:.{}f}", value, -exponent);
  } else {
    const double unit = std::pow(10.0, exponent);
    text = fmt::format("{:.0f}", std::round(value / unit) * unit);
  }
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.front() == '-' ? text.substr(1) : text;
}

std::string three_digits(const std::optional<double>& value) {
  return value ? round_at(*value, exponent_without_interval(*value)) : "-";
}

}  // namespace hpcbench
