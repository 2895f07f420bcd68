#include "base/measured_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

namespace {

constexpr unsigned long long kMinuteS = 60;
constexpr unsigned long long kHourS = 3600;
constexpr unsigned long long kDayS = 86400;
constexpr std::string_view kDigits = "0123456789";

/// Returns the seconds of a unit beside a number, where `m` is a minute.
std::optional<double> seconds_of_unit(std::string_view word) {
  return word == "m" ? std::optional(static_cast<double>(kMinuteS)) : unit_factor(std::string(word), "s");
}

/// Returns the leading digits with at most one point; no sign, no exponent.
std::string_view leading_decimal(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
}

/// A sum of decimals times units, without rounding errors while 64 bits hold it.
class SecondsSum {
 public:
  /// Returns false if the text is no decimal.
  bool add(std::string_view decimal, double unit_s) {
    if (decimal.empty() || leading_decimal(decimal).size() != decimal.size()) return false;
    double amount = 0;
    const auto read = std::from_chars(decimal.data(), decimal.data() + decimal.size(), amount);
    if (read.ec != std::errc() || read.ptr != decimal.data() + decimal.size() || !std::isfinite(amount)) return false;
    rounded_ += static_cast<long double>(amount) * static_cast<long double>(unit_s);
    const std::size_t point = decimal.find('.');
    Part part;
    part.exponent = point == std::string_view::npos ? 0 : static_cast<int>(decimal.size() - point - 1);
    if (unit_s < 1) {
      part.exponent += static_cast<int>(std::lround(-std::log10(unit_s)));
    } else {
      part.factor = static_cast<unsigned long long>(unit_s);
    }
    std::string digits(decimal.substr(0, point));
    if (point != std::string_view::npos) digits += decimal.substr(point + 1);
    const auto whole = std::from_chars(digits.data(), digits.data() + digits.size(), part.digits);
    is_exact_ = is_exact_ && whole.ec == std::errc();
    parts_.push_back(part);
    return true;
  }

  double value() const {
    int exponent = 0;
    for (const Part& part : parts_) exponent = std::max(exponent, part.exponent);
    unsigned long long sum = 0;
    for (const Part& part : parts_) {
      unsigned long long scaled = part.digits;
      bool overflows = __builtin_mul_overflow(scaled, part.factor, &scaled);
      for (int i = part.exponent; i < exponent; ++i) overflows = __builtin_mul_overflow(scaled, 10ULL, &scaled) || overflows;
      if (overflows || __builtin_add_overflow(sum, scaled, &sum) || !is_exact_) return static_cast<double>(rounded_);
    }
    const std::string text = fmt::format("{}e-{}", sum, exponent);
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return result;
  }

 private:
  struct Part {
    unsigned long long digits = 0;
    unsigned long long factor = 1;
    int exponent = 0;  // power of ten, below the digits
  };
  std::vector<Part> parts_;
  long double rounded_ = 0;
  bool is_exact_ = true;
};

/// Parses `1-02:03:04.5`, `1-02:03`, `1:03:48`, `63:48`.
std::optional<double> parse_clock(std::string_view text) {
  SecondsSum sum;
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  if (has_days) {
    const std::string_view days = text.substr(0, dash);
    if (days.find('.') != std::string_view::npos || !sum.add(days, kDayS)) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const bool ends_with_minutes = has_days && parts.size() == 2;
  unsigned long long unit_s = parts.size() == 3 || ends_with_minutes ? kHourS : kMinuteS;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    const bool has_point = parts[i].find('.') != std::string::npos;
    if ((has_point && (!is_last || ends_with_minutes)) || !sum.add(parts[i], static_cast<double>(unit_s))) return std::nullopt;
    const std::string_view whole = std::string_view(parts[i]).substr(0, parts[i].find('.'));
    if (i > 0 && (whole.size() > 2 || (whole.size() == 2 && whole.front() >= '6'))) return std::nullopt;
    unit_s /= 60;
  }
  return sum.value();
}

/// Letters and bytes above ASCII, which belong to the micro sign.
bool is_unit_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// Parses `63 min 48 s`: numbers, each with its unit, no unit twice.
std::optional<double> parse_units(std::string_view text) {
  SecondsSum sum;
  double smallest = 0;
  while (!text.empty()) {
    const std::string_view number = leading_decimal(text);
    text = trim(text.substr(number.size()));
    std::size_t end = 0;
    while (end < text.size() && is_unit_letter(text[end])) ++end;
    const std::optional<double> unit = seconds_of_unit(text.substr(0, end));
    if (!unit || (smallest > 0 && *unit >= smallest) || !sum.add(number, *unit)) return std::nullopt;
    smallest = *unit;
    text = trim(text.substr(end));
  }
  return smallest > 0 ? std::optional(sum.value()) : std::nullopt;
}

/// Returns the end of `5m11.80s`, `19m 3.52s`: pairs of a number and a unit.
std::size_t length_of_units(std::string_view text) {
  std::size_t end = 0;
  int parts = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t number = leading_decimal(text.substr(at)).size();
    if (number == 0) break;
    at = std::min(text.find_first_not_of(' ', at + number), text.size());
    const std::size_t word = at;
    while (at < text.size() && is_unit_letter(text[at])) ++at;
    if (!seconds_of_unit(text.substr(word, at - word))) break;
    end = at;
    ++parts;
    at = std::min(text.find_first_not_of(' ', at), text.size());
  }
  return parts > 1 && parse_units(text.substr(0, end)) ? end : 0;
}

}  // namespace

std::optional<double> parse_measured_time(std::string_view text) {
  text = trim(text);
  return text.find(':') != std::string_view::npos ? parse_clock(text) : parse_units(text);
}

std::size_t length_of_measured_time(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  text = text.substr(0, kLongest);
  const std::string_view clock = text.substr(0, text.find_first_not_of("0123456789:.-"));
  const std::size_t end = clock.find_last_of(kDigits) + 1;  // npos + 1 = 0
  const bool ends = end == text.size() || !is_unit_letter(text[end]);
  if (ends && clock.substr(0, end).find(':') != std::string_view::npos && parse_clock(clock.substr(0, end))) return end;
  return length_of_units(text);
}

}  // namespace hpcbench
