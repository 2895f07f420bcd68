#include "base/measured_time.hpp"

#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

namespace {

constexpr double kMinuteS = 60;
constexpr double kDayS = 86400;

/// `m` is a minute beside a number.
std::optional<double> seconds_of_unit(std::string_view word) {
  return word == "m" ? std::optional(kMinuteS) : unit_factor(std::string(word), "s");
}

/// Digits with at most one point in them; no sign, no exponent.
std::string_view leading_decimal(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
}

std::optional<double> decimal(std::string_view text) {
  const bool digits_only = !text.empty() && leading_decimal(text).size() == text.size();
  return digits_only ? parse_plain_number(text) : std::nullopt;
}

/// `1-02:03:04.5`, `1:03:48`, `63:48`.
std::optional<double> parse_clock(std::string_view text) {
  double seconds = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const std::optional<double> days = decimal(text.substr(0, dash));
    if (!days || text.find('.') < dash) return std::nullopt;
    seconds = *days * kDayS;
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double clock = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<double> part = decimal(parts[i]);
    const bool last = i + 1 == parts.size();
    if (!part || (!last && parts[i].find('.') != std::string::npos) || (i > 0 && *part >= kMinuteS)) return std::nullopt;
    clock = clock * kMinuteS + *part;
  }
  return seconds + clock;
}

/// Bytes above ASCII are of the micro sign.
bool is_unit_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// `63 min 48 s`: numbers, each with its unit, no unit twice.
std::optional<double> parse_units(std::string_view text) {
  double seconds = 0;
  double smallest = 0;
  while (!text.empty()) {
    const std::string_view number = leading_decimal(text);
    const std::optional<double> amount = decimal(number);
    if (!amount) return std::nullopt;
    text = trim(text.substr(number.size()));
    std::size_t end = 0;
    while (end < text.size() && is_unit_letter(text[end])) ++end;
    const std::optional<double> unit = seconds_of_unit(text.substr(0, end));
    if (!unit || (smallest > 0 && *unit >= smallest)) return std::nullopt;
    smallest = *unit;
    seconds += *amount * *unit;
    text = trim(text.substr(end));
  }
  return smallest > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::optional<double> parse_measured_time(std::string_view text) {
  text = trim(text);
  return text.find(':') != std::string_view::npos ? parse_clock(text) : parse_units(text);
}

std::optional<double> parse_plain_number(std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace hpcbench
