#include "expressions/operands.hpp"

#include <fmt/format.h>

#include <cmath>
#include <compare>
#include <optional>

namespace hpcbench {

namespace {

using Code = Instruction::Code;

constexpr double kTwoTo63 = 9223372036854775808.0;

/// Returns the spelling of a double. One that no integer holds keeps its exponent: digits alone would read back as an integer.
std::string number_text(double number) {
  std::string digits = fmt::format("{:.15g}", number);
  if (number < kTwoTo63 && number >= -kTwoTo63) return Value::from_plain(digits).canonical();
  if (const std::size_t plus = digits.find('+'); plus != std::string::npos) digits.erase(plus, 1);
  return digits;
}

Operand checked(double number) {
  if (!std::isfinite(number)) throw OperationError{"the result is larger than a double holds"};
  return number;
}

/// Takes the number by address: it is set while `overflow` is computed.
Operand checked(bool overflow, const std::int64_t* number) {
  if (overflow)
    throw OperationError{"the result is larger than a 64-bit integer holds", "a decimal is computed as a double: 1.0 * x"};
  return *number;
}

Operand integer_of(double number) {
  if (number >= kTwoTo63 || number < -kTwoTo63)
    throw OperationError{fmt::format("no 64-bit integer holds {}", number_text(number))};
  return static_cast<std::int64_t>(number);
}

[[noreturn]] void divided_by_zero() { throw OperationError{"division by zero"}; }

Operand floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) divided_by_zero();
  if (b == -1) return negate(a);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Operand modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) divided_by_zero();
  if (b == -1) return std::int64_t{0};
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Returns the remainder with the sign of the divisor (Python's float_rem).
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Returns Python's float_floor_div: the quotient without its remainder, so that a == (a // b) * b + a % b nearly.
double floor_divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

/// Computes by squaring: a base but 0, 1 and -1 overflows before its exponent has 64 steps. `b` is not negative.
Operand power(std::int64_t a, std::int64_t b) {
  std::int64_t result = 1;
  bool overflow = false;
  for (std::int64_t square = a; b > 0 && !overflow; b /= 2) {
    if (b % 2 == 1) overflow = __builtin_mul_overflow(result, square, &result);
    if (b > 1) overflow = __builtin_mul_overflow(square, square, &square) || overflow;
  }
  return checked(overflow, &result);
}

double power(double a, double b) {
  if (a == 0 && b < 0) divided_by_zero();
  if (a < 0 && std::floor(b) != b)
    throw OperationError{fmt::format("a negative number, {}, has no power of {}", number_text(a), number_text(b))};
  return std::pow(a, b);
}

Operand calculate_integers(Code code, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (code) {
    case Code::add:
      return checked(__builtin_add_overflow(a, b, &result), &result);
    case Code::subtract:
      return checked(__builtin_sub_overflow(a, b, &result), &result);
    case Code::multiply:
      return checked(__builtin_mul_overflow(a, b, &result), &result);
    case Code::floor_divide:
      return floor_divide(a, b);
    case Code::power:
      return power(a, b);
    default:
      return modulo(a, b);
  }
}

Operand calculate_doubles(Code code, double a, double b) {
  if (b == 0 && (code == Code::divide || code == Code::floor_divide || code == Code::modulo)) divided_by_zero();
  switch (code) {
    case Code::add:
      return checked(a + b);
    case Code::subtract:
      return checked(a - b);
    case Code::multiply:
      return checked(a * b);
    case Code::divide:
      return checked(a / b);
    case Code::floor_divide:
      return checked(floor_divide(a, b));
    case Code::power:
      return checked(power(a, b));
    default:
      return checked(modulo(a, b));
  }
}

std::string_view sign_of(Code code) {
  switch (code) {
    case Code::add:
      return "+";
    case Code::subtract:
      return "-";
    case Code::multiply:
      return "*";
    case Code::divide:
      return "/";
    case Code::floor_divide:
      return "//";
    case Code::power:
      return "**";
    default:
      return "%";
  }
}

std::string_view name_of(Code function) {
  switch (function) {
    case Code::ceil:
      return "ceil";
    case Code::floor:
      return "floor";
    case Code::round:
      return "round";
    case Code::abs:
      return "abs";
    case Code::sqrt:
      return "sqrt";
    default:
      return "log2";
  }
}

/// Computes sqrt and log2.
Operand root_or_logarithm(Code code, double number) {
  if (number < 0 || (number == 0 && code == Code::log2))
    throw OperationError{fmt::format("there is no {} of {}", name_of(code), number_text(number))};
  return code == Code::sqrt ? std::sqrt(number) : std::log2(number);
}

std::strong_ordering order_of(double a, double b) {
  return a < b ? std::strong_ordering::less : a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

/// Compares exactly: a large integer is not rounded to a double first.
std::strong_ordering compare_numbers(const Operand& a, const Operand& b) {
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  if (x != nullptr && y != nullptr) return *x <=> *y;
  if (x == nullptr && y == nullptr) return order_of(std::get<double>(a), std::get<double>(b));
  if (x == nullptr) {
    const std::strong_ordering reversed = compare_numbers(b, a);
    if (std::is_eq(reversed)) return reversed;
    return std::is_lt(reversed) ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  const double number = std::get<double>(b);
  if (number >= kTwoTo63) return std::strong_ordering::less;
  if (number < -kTwoTo63) return std::strong_ordering::greater;
  const auto whole = static_cast<std::int64_t>(number);
  if (*x != whole) return *x <=> whole;
  return order_of(0, number - std::trunc(number));
}

}  // namespace

Operand to_operand(const Value& value) {
  if (value.is_text()) return std::string_view(value.text());
  if (!value.is_number()) return value.text() == "true";
  if (const std::optional<long long> integer = value.integer()) return static_cast<std::int64_t>(*integer);
  const double number = *value.number();
  if (!std::isfinite(number)) throw OperationError{fmt::format("no double holds {}", value.text())};
  if (value.text().find_first_of(".eE") == std::string::npos)
    throw OperationError{fmt::format("no 64-bit integer holds {}", value.text())};
  return number;
}

Operand to_operand(const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) return std::string_view(*text);
  if (const auto* flag = std::get_if<bool>(&literal)) return *flag;
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return *integer;
  return std::get<double>(literal);
}

Value to_value(const Operand& operand) {
  if (const auto* text = std::get_if<std::string_view>(&operand)) return Value::from_text(*text);
  if (const auto* flag = std::get_if<bool>(&operand)) return Value::from_boolean(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&operand)) return Value::from_integer(*integer);
  return Value::from_plain(number_text(std::get<double>(operand)));
}

bool is_number(const Operand& operand) {
  return std::holds_alternative<std::int64_t>(operand) || std::holds_alternative<double>(operand);
}

double to_double(const Operand& number) {
  const auto* integer = std::get_if<std::int64_t>(&number);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(number);
}

std::string describe(const Operand& operand) {
  const Value value = to_value(operand);
  if (value.is_text()) return fmt::format("the text \"{}\"", value.text().substr(0, 60));
  return (value.is_number() ? "the number " : "") + value.text();
}

bool are_equal(const Operand& a, const Operand& b) {
  if (is_number(a) && is_number(b)) return compare_numbers(a, b) == std::strong_ordering::equal;
  return a == b;
}

std::strong_ordering compare_operands(const Operand& a, const Operand& b, const std::string& sign) {
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  const auto* x = std::get_if<std::string_view>(&a);
  const auto* y = std::get_if<std::string_view>(&b);
  if (x != nullptr && y != nullptr) return *x <=> *y;
  throw OperationError{fmt::format("`{}` orders two numbers or two texts, not {} and {}", sign, describe(a), describe(b))};
}

Operand calculate(Instruction::Code code, const Operand& a, const Operand& b) {
  for (const Operand* side : {&a, &b}) {
    if (!is_number(*side)) {
      const bool joins = code == Code::add && std::holds_alternative<std::string_view>(*side);
      throw OperationError{fmt::format("`{}` takes numbers, not {}", sign_of(code), describe(*side)),
                           joins ? "texts are joined where they are used: \"{{a}}-{{b}}\"" : ""};
    }
  }
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  const bool is_fraction = code == Code::divide || (code == Code::power && y != nullptr && *y < 0);
  if (x != nullptr && y != nullptr && !is_fraction) return calculate_integers(code, *x, *y);
  return calculate_doubles(code, to_double(a), to_double(b));
}

Operand negate(const Operand& operand) {
  if (!is_number(operand)) throw OperationError{fmt::format("`-` takes a number, not {}", describe(operand))};
  if (const auto* integer = std::get_if<std::int64_t>(&operand)) {
    std::int64_t result = 0;
    return checked(__builtin_sub_overflow(std::int64_t{0}, *integer, &result), &result);
  }
  return -std::get<double>(operand);
}

Operand call_function(Instruction::Code code, const Operand& operand) {
  if (!is_number(operand)) throw OperationError{fmt::format("`{}` takes a number, not {}", name_of(code), describe(operand))};
  const double number = to_double(operand);
  if (code == Code::sqrt || code == Code::log2) return root_or_logarithm(code, number);
  if (std::holds_alternative<std::int64_t>(operand)) return code == Code::abs && number < 0 ? negate(operand) : operand;
  if (code == Code::abs) return std::fabs(number);
  if (code == Code::ceil) return integer_of(std::ceil(number));
  if (code == Code::floor) return integer_of(std::floor(number));
  return integer_of(std::nearbyint(number));
}

}  // namespace hpcbench
