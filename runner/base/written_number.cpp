#include "base/written_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/measured_time.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

namespace {

using NumberKind = WrittenNumber::Kind;

constexpr std::size_t kLongestNumber = 100;
constexpr std::size_t kThousand = 3;  // digits of a group
constexpr std::string_view kTenDigits = "0123456789";
constexpr std::array kBlankSeparators = {std::string_view("\u00a0"), std::string_view("\u202f"), std::string_view("\u2009")};

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_with_digit(std::string_view text) { return !text.empty() && is_decimal_digit(text.front()); }

/// The separator that `text` begins with, if a digit follows: one byte, or a blank that does not break a line.
std::string_view separator_at(std::string_view text) {
  if (text.size() < 2) return {};
  if (std::string_view(".,_'").find(text.front()) != std::string_view::npos)
    return starts_with_digit(text.substr(1)) ? text.substr(0, 1) : std::string_view();
  if (static_cast<unsigned char>(text.front()) < 0x80) return {};
  for (const std::string_view blank : kBlankSeparators) {
    if (text.starts_with(blank) && starts_with_digit(text.substr(blank.size()))) return text.substr(0, blank.size());
  }
  return {};
}

std::size_t count_digits(std::string_view text) { return std::min(text.find_first_not_of(kTenDigits), text.size()); }

/// A number cut into its digits.
struct Digits {
  bool is_negative = false;
  std::string_view head;
  std::vector<std::pair<std::string_view, std::string_view>> groups;  // a separator and the digits behind it
  std::string_view exponent;                                          // `-5` of `e-5`
  std::size_t length = 0;                                             // 0: no number
};

/// The exponent behind digits: `e-5`, and Fortran's `D+03` behind decimals.
std::size_t length_of_exponent(std::string_view rest, bool has_decimals) {
  if (rest.empty() || (rest.front() != 'e' && rest.front() != 'E' && rest.front() != 'd' && rest.front() != 'D')) return 0;
  const bool is_fortran = rest.front() == 'd' || rest.front() == 'D';
  const std::size_t sign = rest.substr(1, 1) == "+" || rest.substr(1, 1) == "-" ? 1 : 0;
  const std::size_t digits = count_digits(rest.substr(1 + sign));
  const std::size_t end = 1 + sign + digits;
  if (digits == 0 || (is_fortran && !has_decimals)) return 0;
  const bool runs_on = end < rest.size() && (is_letter(rest[end]) || rest[end] == '_');
  return runs_on && is_fortran ? 0 : end;
}

Digits cut_number(std::string_view text) {
  Digits number;
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  number.is_negative = text.starts_with('-');
  number.head = text.substr(at, count_digits(text.substr(at)));
  at += number.head.size();
  while (true) {
    const std::string_view separator = separator_at(text.substr(at));
    if (separator.empty()) break;
    const std::string_view rest = text.substr(at + separator.size());
    number.groups.emplace_back(separator, rest.substr(0, count_digits(rest)));
    at += separator.size() + number.groups.back().second.size();
  }
  if (number.head.empty() && (number.groups.size() != 1 || number.groups.front().first != ".")) return {};
  const bool ends_with_point = text.substr(at, 1) == "." && separator_at(text.substr(at)).empty();
  if (!number.head.empty() && number.groups.empty() && ends_with_point) ++at;  // `640216.`
  const bool has_decimals = text.substr(0, at).find_first_of(".,") != std::string_view::npos;
  if (const std::size_t length = length_of_exponent(text.substr(at), has_decimals); length > 0) {
    number.exponent = text.substr(at + 1, length - 1);
    at += length;
  }
  number.length = at;
  return number;
}

/// Whether the first `count` groups separate thousands, all by the same character: `1,541,366`, not `0,310` and `1,5`.
bool has_thousands(const Digits& number, std::size_t count) {
  if (count == 0) return true;
  if (number.head.empty() || number.head.size() > kThousand || number.head.front() == '0') return false;
  return std::all_of(number.groups.begin(), number.groups.begin() + static_cast<std::ptrdiff_t>(count), [&](const auto& group) {
    return group.first == number.groups.front().first && group.second.size() == kThousand;
  });
}

/// The number if its last `decimals` (0 or 1) group holds decimals and all others are thousands.
std::optional<double> value_of(const Digits& number, std::size_t decimals) {
  const std::size_t thousands = number.groups.size() - decimals;
  if (!has_thousands(number, thousands)) return std::nullopt;
  if (decimals == 1 && thousands > 0 && number.groups.back().first == number.groups.front().first) return std::nullopt;
  std::string plain = number.is_negative ? "-" : "";
  plain += number.head;
  for (std::size_t i = 0; i < thousands; ++i) plain += number.groups[i].second;
  if (decimals == 1) plain.append(".").append(number.groups.back().second);
  if (!number.exponent.empty()) {
    plain += 'e';
    plain += number.exponent.starts_with('+') ? number.exponent.substr(1) : number.exponent;
  }
  return parse_plain_number(plain);
}

/// The number by a known mark.
std::optional<double> value_by_mark(const Digits& number, std::string_view mark) {
  if (number.groups.empty()) return value_of(number, 0);
  if (number.groups.back().first == mark) return value_of(number, 1);
  const bool has_mark = std::any_of(number.groups.begin(), number.groups.end(), [&](const auto& g) { return g.first == mark; });
  return has_mark ? std::nullopt : value_of(number, 0);
}

/// Sets kind, value and advice of a number whose text was cut. Without a known mark, `1,234` has two values, and `0,31` may be
/// two numbers.
void judge(const Digits& number, DecimalMark mark, WrittenNumber& result) {
  const auto set = [&](std::optional<double> value) {
    if (value) result.value = *value;
    result.kind = value ? NumberKind::number : NumberKind::none;
    return value.has_value();
  };
  const std::string_view last = number.groups.empty() ? std::string_view() : number.groups.back().first;
  if (mark == DecimalMark::point || mark == DecimalMark::comma) {
    if (!set(value_by_mark(number, mark == DecimalMark::comma ? "," : ".")))
      result.why = fmt::format("not a number with a decimal {}", to_string(mark));
    return;
  }
  if (last != "," || number.groups.size() > 1) {
    // One separator of two is the decimal one; of one kind alone, points are decimal and all others are not.
    const bool is_mixed = number.groups.size() > 1 && last != number.groups.front().first;
    const bool is_decimal = last == "." || last == ",";
    const bool single = number.groups.size() == 1;
    set(value_of(number, is_decimal && (is_mixed || (single && last == ".")) ? 1 : 0));
    return;
  }
  const std::optional<double> as_decimal = value_of(number, 1);
  const std::optional<double> as_thousands = value_of(number, 0);
  if (as_decimal && as_thousands) {
    result.kind = NumberKind::unclear;
    result.why = fmt::format(
        "it may be {} or {}, and the file's other numbers do not decide: write `decimal: point` or `decimal: comma`",
        *as_thousands, *as_decimal);
  } else if (as_decimal) {
    result.why = fmt::format(
        "with `decimal: comma` it is {}; where another value follows the comma, let the pattern match the comma", *as_decimal);
  }
}

/// `2m3,5s` with a point.
std::string with_decimal_point(std::string_view text, DecimalMark mark) {
  std::string plain(text);
  const bool is_single = std::count(plain.begin(), plain.end(), ',') == 1;
  if (mark != DecimalMark::point && is_single && plain.find('.') == std::string::npos)
    std::replace(plain.begin(), plain.end(), ',', '.');
  return plain;
}

/// A duration, or a number beside an unknown word.
void read_duration(std::string_view text, DecimalMark mark, WrittenNumber& result) {
  const bool is_negative = text.starts_with('-');
  const std::optional<double> seconds = parse_measured_time(with_decimal_point(text.substr(is_negative ? 1 : 0), mark));
  if (!seconds || (is_negative && text.find(':') != std::string_view::npos)) return;
  result = {NumberKind::number, is_negative ? -*seconds : *seconds, "s"};
  result.seconds = result.value;
  result.is_duration = true;
}

double scaled(double value, double factor) {
  const double divisor = std::round(1 / factor);
  return factor < 1 && divisor < 1e15 && 1 / divisor == factor ? value / divisor : value * factor;
}

}  // namespace

DecimalMark parse_decimal_mark(std::string_view word) {
  return word == "point" ? DecimalMark::point : word == "comma" ? DecimalMark::comma : DecimalMark::unknown;
}

std::string to_string(DecimalMark mark) {
  return mark == DecimalMark::point ? "point" : mark == DecimalMark::comma ? "comma" : "";
}

std::optional<double> parse_plain_number(std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

bool is_absent(std::string_view text) {
  constexpr std::array kWords = {"", "-", "--", "n/a", "na", "null", "none"};
  constexpr std::size_t kLongest = 4;
  if (text.size() > kLongest) return false;
  const std::string lower = lower_case(text);
  return std::any_of(kWords.begin(), kWords.end(), [&](const char* word) { return lower == word; });
}

bool is_not_finite(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest) return false;
  const std::string word = lower_case(text);
  return word == "nan" || word == "inf" || word == "infinity" || (word.starts_with("nan(") && word.ends_with(')'));
}

std::optional<double> factor_of_letter(std::string_view letter, const std::string& unit) {
  const std::optional<double> of_bytes = unit_factor("byte", unit);
  const std::size_t power = std::string_view("KMGTP").find(letter);
  if (!of_bytes || letter.size() != 1 || power == std::string_view::npos) return std::nullopt;
  if (unit.size() > 1 && lower_case(unit.substr(0, 1)) == lower_case(letter)) return 1;
  return std::pow(1024.0, static_cast<double>(power + 1)) * *of_bytes;
}

WrittenNumber read_written_number(std::string_view written, DecimalMark mark) {
  WrittenNumber result;
  const std::string_view text = trim(written);
  if (text.size() > kLongestNumber) return result;
  if (!starts_with_digit(text) && is_absent(text)) return {NumberKind::absent};
  if (!starts_with_digit(text) && is_not_finite(text)) return {NumberKind::not_finite};
  const Digits number = cut_number(text);
  if (number.length == 0) return result;
  const std::string_view rest = trim(text.substr(number.length));
  const bool is_letter_alone = rest.size() == 1 && number.length + 1 == text.size() && is_letter(rest.front());
  const bool is_unit = rest == "%" || is_letter_alone || is_known_unit(std::string(rest));
  if (rest.empty() || (is_unit && rest != "m")) {
    judge(number, mark, result);
    result.unit = rest;
    if (result.kind != NumberKind::number || rest.empty()) return result;
    result.seconds = parse_measured_time(text);
    if (!result.seconds && !is_letter_alone && unit_factor(result.unit, "s"))
      result.seconds = scaled(result.value, *unit_factor(result.unit, "s"));
    return result;
  }
  read_duration(text, mark, result);
  return result;
}

static std::string_view separator_and_digits(std::string_view rest) {
  const std::string_view separator = separator_at(rest);
  return separator.empty() ? separator : rest.substr(0, separator.size() + count_digits(rest.substr(separator.size())));
}

/// Whether another part of a duration may follow a number: `:14:25`, `m 3.52s`.
static bool may_continue_time(std::string_view rest) {
  if (rest.front() == ':' || rest.front() == '-') return starts_with_digit(rest.substr(1));
  std::size_t at = 0;
  const auto skip = [&](auto is_skipped) {
    while (at < rest.size() && is_skipped(rest[at])) ++at;
  };
  skip([](char c) { return is_decimal_digit(c) || c == '.'; });
  skip([](char c) { return c == ' '; });
  const std::size_t unit = at;
  skip([](char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; });
  if (at == unit) return false;
  skip([](char c) { return c == ' '; });
  return starts_with_digit(rest.substr(at));
}

/// Whether `captured` may be the first part of a duration: `1` or `1h` of `1h 17m`.
static bool may_be_part_of_time(std::string_view captured, std::string_view rest) {
  if (captured.find_first_not_of("0123456789.") == std::string_view::npos) return may_continue_time(rest);
  return rest.front() == ' ' && parse_measured_time(captured).has_value();
}

std::string_view whole_number(std::string_view text, std::size_t begin, std::size_t end, bool is_time) {
  const std::string_view captured = text.substr(begin, end - begin);
  if (captured.empty() || end >= text.size()) return captured;
  if (is_time && starts_with_digit(captured) && may_be_part_of_time(captured, text.substr(end))) {
    const std::size_t length = length_of_measured_time(text.substr(begin));
    if (length > captured.size()) return text.substr(begin, length);
  }
  if (!is_decimal_digit(captured.back())) return captured;
  std::size_t stop = end;
  while (true) {
    const std::string_view more = separator_and_digits(text.substr(stop));
    if (more.empty()) break;
    stop += more.size();
  }
  const bool is_whole =
      captured.find_first_not_of(kTenDigits, is_decimal_digit(captured.front()) ? 0 : 1) == std::string_view::npos;
  // Behind decimals a comma separates values, as in `1.5,2.5`, unless all of it is one number.
  if (stop > end && !is_whole &&
      read_written_number(text.substr(begin, stop - begin), DecimalMark::unknown).kind == NumberKind::none)
    stop = end;
  const bool has_decimals = text.substr(begin, stop - begin).find('.') != std::string_view::npos;
  const std::size_t exponent = length_of_exponent(text.substr(stop), has_decimals);
  const std::size_t last = stop + exponent;
  const bool runs_on = last < text.size() && exponent > 0 && is_letter(text[last]);
  return text.substr(begin, (runs_on ? stop : last) - begin);
}

NumberReader::NumberReader(std::string unit, DecimalMark declared)
    : unit_(std::move(unit)), declared_(declared), is_time_(unit_factor(unit_, "s").has_value()) {}

void NumberReader::begin_file(FindMark find_mark) {
  of_file_.reset();
  find_mark_ = std::move(find_mark);
}

DecimalMark NumberReader::mark() {
  if (declared_ != DecimalMark::unknown) return declared_;
  if (!of_file_) of_file_ = find_mark_ ? find_mark_() : DecimalMark::unknown;
  return *of_file_;
}

void NumberReader::find_unit(std::string_view unit) {
  if (!unit_.empty()) return;
  unit_ = unit;
  has_found_unit_ = true;
}

/// `1.204`, which is 1204 in a file with decimal commas.
static bool may_have_point_of_thousands(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() <= kThousand + 1 || text.size() > 2 * kThousand + 1 || text.front() == '0') return false;
  const std::size_t point = text.size() - kThousand - 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point ? text[i] != '.' : !is_decimal_digit(text[i])) return false;
  }
  return true;
}

/// `0.31`, `12.5`; not `1.204`, and no list.
static bool is_decimal_with_point(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  return token.find_first_not_of("0123456789.") == std::string_view::npos && token.find('.') != std::string_view::npos &&
         token.find('.') == token.rfind('.') && is_decimal_digit(token.front()) && is_decimal_digit(token.back()) &&
         !may_have_point_of_thousands(token);
}

WrittenNumber NumberReader::read_as_written(std::string_view text) {
  if (declared_ != DecimalMark::unknown) return read_written_number(text, declared_);
  WrittenNumber number = read_written_number(text, of_file_.value_or(DecimalMark::unknown));
  if (of_file_ && *of_file_ != DecimalMark::disputed) return number;
  const std::string_view bare = trim(text);
  const std::string_view plain = bare.substr(0, bare.find_first_not_of("-0123456789.,_'"));
  const bool has_comma = plain.find(',') != std::string_view::npos;
  const bool is_open = number.kind == NumberKind::unclear || (number.kind == NumberKind::none && has_comma) ||
                       (number.kind == NumberKind::number && may_have_point_of_thousands(plain));
  if (!is_open || mark() == DecimalMark::unknown) return number;
  if (mark() != DecimalMark::disputed) return read_written_number(text, mark());
  if (number.kind != NumberKind::number) return number;
  return {
      NumberKind::unclear,
      0,
      "",
      {},
      false,
      fmt::format("it may be {} or {}, and the file's other numbers do not decide: write `decimal: point` or `decimal: comma`",
                  number.value, read_written_number(text, DecimalMark::comma).value)};
}

WrittenNumber NumberReader::read(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_plain = read.ec == std::errc() && read.ptr == text.data() + text.size() && std::isfinite(value);
  if (is_plain && declared_ != DecimalMark::comma &&
      (!may_have_point_of_thousands(text) || mark() < DecimalMark::disputed || mark() == DecimalMark::point))
    return {NumberKind::number, value};
  WrittenNumber number = read_as_written(text);
  if (number.kind == NumberKind::number) convert(number);
  return number;
}

WrittenNumber NumberReader::read(std::string_view text, std::string_view unit) {
  WrittenNumber number = read(text);
  if (number.kind != NumberKind::number || trim(unit).empty()) return number;
  if (!number.unit.empty())
    return {NumberKind::none, 0, "", {}, false, fmt::format("a unit follows it, and `{}` beside it", unit)};
  number.unit = trim(unit);
  if (const auto factor = unit_factor(number.unit, "s")) number.seconds = scaled(number.value, *factor);
  convert(number);
  return number;
}

void NumberReader::convert(WrittenNumber& number) {
  if (number.unit.empty()) return;
  const auto refuse = [&](std::string why) { number = {NumberKind::none, 0, "", {}, false, std::move(why)}; };
  if (number.is_duration && unit_.empty()) return refuse("a duration: give the metric `unit: s`");
  const bool is_letter_alone = number.unit.size() == 1 && number.unit != "%" && !is_known_unit(number.unit);
  if (unit_.empty() && !is_letter_alone) return find_unit(number.unit);
  if (number.unit == unit_) return;
  if (is_letter_alone) {
    const auto factor = factor_of_letter(number.unit, unit_);
    if (!factor) {
      return refuse(unit_.empty() ? "give the metric a `unit`, for example bytes"
                                  : fmt::format("`{}` is no multiple of the metric's unit {}", number.unit, unit_));
    }
    number.value = scaled(number.value, *factor);
    return;
  }
  const auto factor = unit_factor(number.unit, unit_);
  if (!factor) return refuse(fmt::format("it is in {}, and the metric in {}", number.unit, unit_));
  const auto from_s = number.seconds ? unit_factor("s", unit_) : std::nullopt;
  number.value = from_s ? scaled(*number.seconds, *from_s) : scaled(number.value, *factor);
}

std::optional<double> NumberReader::read_index(std::string_view text) {
  const bool may_be_plain = declared_ != DecimalMark::comma && (!may_have_point_of_thousands(text) ||
                                                                mark() < DecimalMark::disputed || mark() == DecimalMark::point);
  if (const auto plain = parse_plain_number(text); plain && may_be_plain) return plain;
  const WrittenNumber number = read_as_written(text);
  return number.kind == NumberKind::number && number.unit.empty() ? std::optional(number.value) : std::nullopt;
}

void MarkEvidence::add(std::string_view text) { is_column_ ? add_cells(text) : add_text(text); }

void MarkEvidence::add_text(std::string_view text) {
  constexpr std::string_view kNumberBytes = "0123456789.,";
  for (std::size_t at = text.find(','); at != std::string_view::npos; at = text.find(',', at)) {
    std::size_t begin = at;
    while (begin > 0 && kNumberBytes.find(text[begin - 1]) != std::string_view::npos) --begin;
    const std::size_t end = std::min(text.find_first_not_of(kNumberBytes, at), text.size());
    const char before = begin == 0 ? '\n' : text[begin - 1];
    if (before != ':' && before != '[' && before != '(' && !is_letter(before)) add_token(text.substr(begin, end - begin));
    at = end;
  }
  if (!decimal_point_) find_point(text);
}

/// Looks for one decimal point; more do not matter.
void MarkEvidence::find_point(std::string_view text) {
  constexpr std::string_view kNumberBytes = "0123456789.,";
  std::size_t end = 0;
  for (std::size_t at = text.find('.'); at != std::string_view::npos && !decimal_point_; at = text.find('.', end)) {
    std::size_t begin = at;
    while (begin > end && kNumberBytes.find(text[begin - 1]) != std::string_view::npos) --begin;
    end = std::min(text.find_first_not_of(kNumberBytes, at), text.size());
    const std::string_view token = text.substr(begin, end - begin);
    const char before = begin == 0 ? '\n' : text[begin - 1];
    if (!is_letter(before) && before != '_' && is_decimal_with_point(token)) decimal_point_ = true;
  }
}

/// The column's cells. Commas stand in quotes, or between other delimiters: without them no cell is in question.
void MarkEvidence::add_cells(std::string_view rows) {
  if (rows.find(delimiter_ == ',' ? '"' : ',') == std::string_view::npos) return;
  bool is_quoted = false;
  std::size_t column = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= rows.size(); ++i) {
    const char c = i == rows.size() ? '\n' : rows[i];
    if (c == '"') is_quoted = !is_quoted;
    if (i < rows.size() && (is_quoted || (c != delimiter_ && c != '\n'))) continue;
    std::string_view cell = trim(rows.substr(begin, i - begin));
    if (cell.size() > 1 && cell.starts_with('"') && cell.ends_with('"')) cell = trim(cell.substr(1, cell.size() - 2));
    if (column == column_) {
      cell = cell.substr(0, cell.find_first_of(" %", 1));
      if (is_decimal_with_point(cell)) decimal_point_ = true;
      add_token(cell);
    }
    column = c == '\n' ? 0 : column + 1;
    begin = i + 1;
  }
}

void MarkEvidence::add_token(std::string_view token) {
  while (!is_column_ && !token.empty() && !is_decimal_digit(token.back())) token.remove_suffix(1);
  const Digits number = cut_number(token);
  if (number.length != token.size() || number.groups.empty() || token.find(',') == std::string_view::npos) return;
  const std::size_t count = number.groups.size();
  const std::string_view first = number.groups.front().first, last = number.groups.back().first;
  if (count == 1) {
    if (!has_thousands(number, 1)) decimal_comma_ = true;
  } else if (first == last) {
    if (has_thousands(number, count)) groups_by_comma_ = true;
  } else if (has_thousands(number, count - 1)) {
    (first == "," ? groups_by_comma_ : groups_by_point_) = true;
  }
}

DecimalMark MarkEvidence::mark() const {
  const bool comma = is_column_ ? groups_by_point_ || decimal_comma_ : groups_by_point_ && decimal_comma_;
  const bool point = groups_by_comma_ || (decimal_point_ && (is_column_ || !decimal_comma_));
  if (comma != point && !(comma && decimal_point_)) {
    const bool contradicts = point && (groups_by_point_ || (is_column_ && decimal_comma_));
    if (!contradicts) return comma ? DecimalMark::comma : DecimalMark::point;
  }
  return groups_by_point_ && !decimal_point_ ? DecimalMark::disputed : DecimalMark::unknown;
}

}  // namespace hpcbench
