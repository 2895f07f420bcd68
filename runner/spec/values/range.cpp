#include <fmt/format.h>
#include <re2/re2.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostRangeValues = 1'000'000;
constexpr long long kMostDigits = 1'000'000'000'000'000'000;  // 10^18
constexpr int kLargestExponent = 300;
constexpr const char* kRangeForm = "{from: 1, to: 8, step: 1} or {from: 1, to: 64, times: 2}";

/// digits * 10^exponent, without trailing zeros in `digits`.
struct ExactNumber {
  long long digits = 0;
  int exponent = 0;
};

ExactNumber normalised(ExactNumber number) {
  if (number.digits == 0) return {};
  while (number.digits % 10 == 0) {
    number.digits /= 10;
    ++number.exponent;
  }
  return number;
}

Value as_value(const ExactNumber& number) {
  return Value::from_plain(Value::from_plain(fmt::format("{}e{}", number.digits, number.exponent)).canonical());
}

/// nullopt for more than 18 digits, or an extreme exponent.
std::optional<ExactNumber> exact_number(const Value& value) {
  std::string_view text = value.canonical();
  ExactNumber number;
  if (const std::size_t e = text.find('e'); e != std::string_view::npos) {
    std::from_chars(text.data() + e + 1, text.data() + text.size(), number.exponent);
    text = text.substr(0, e);
  }
  std::string digits(text);
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    number.exponent -= static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  const std::size_t last = digits.find_last_not_of('0');
  if (last != std::string::npos) {
    number.exponent += static_cast<int>(digits.size() - last - 1);
    digits.resize(last + 1);
  }
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number.digits);
  const bool fits = read.ec == std::errc() && number.digits < kMostDigits && number.digits > -kMostDigits;
  if (!fits || number.exponent > kLargestExponent || number.exponent < -kLargestExponent) return std::nullopt;
  return normalised(number);
}

/// The digits of `number` at a smaller exponent.
std::optional<long long> digits_at(const ExactNumber& number, int exponent) {
  long long digits = number.digits;
  for (int i = number.exponent; i > exponent && digits != 0; --i) {
    if (digits >= kMostDigits / 10 || digits <= -kMostDigits / 10) return std::nullopt;
    digits *= 10;
  }
  return digits;
}

std::optional<ExactNumber> product(const ExactNumber& a, const ExactNumber& b) {
  ExactNumber number{0, a.exponent + b.exponent};
  if (__builtin_mul_overflow(a.digits, b.digits, &number.digits)) return std::nullopt;
  return normalised(number);
}

/// `{from: 1, to: 64, times: 2}` while it is read.
class RangeReader {
 public:
  RangeReader(const std::string& axis, const YamlNode& node, Diagnostics& diagnostics)
      : axis_(axis), node_(node), diagnostics_(diagnostics), reader_(node, axis, range_keys(), diagnostics) {}

  std::optional<std::vector<Value>> read() {
    from_ = number("from");
    to_ = number("to");
    step_ = number("step");
    times_ = number("times");
    const std::size_t before = diagnostics_.made();
    reader_.finish();
    if (diagnostics_.made() > before || !is_whole()) return std::nullopt;
    if (to_->value < from_->value) {
      refuse("to", fmt::format("the range of {} ends below its start", cite(axis_)),
             "`to` is the largest value, `from` the smallest");
      return std::nullopt;
    }
    return step_ ? by_step() : by_factor();
  }

 private:
  struct Bound {
    Value value;
    ExactNumber exact;
  };

  void refuse(const char* key, const std::string& message, const std::string& advice) {
    diagnostics_.add(node_.find(key)->location, message, advice);
  }

  std::optional<Bound> number(const char* key) {
    const YamlNode* node = reader_.take(key);
    if (node == nullptr || !read_number(*node, cite(reader_.path(key)), diagnostics_)) return std::nullopt;
    const Value value = Value::from_plain(node->text);
    const std::optional<ExactNumber> exact = exact_number(value);
    if (exact) return Bound{value, *exact};
    refuse(key, fmt::format("{} has more digits than a range takes", cite(reader_.path(key))),
           "18 digits are the most; list the values");
    return std::nullopt;
  }

  /// Every key that a range needs was written and read.
  bool is_whole() {
    for (const char* const key : {"from", "to"}) {
      if (!reader_.has(key))
        diagnostics_.add(node_.location, fmt::format("the range of {} needs `{}`", cite(axis_), key), kRangeForm);
    }
    if (reader_.has("step") == reader_.has("times")) {
      diagnostics_.add(node_.location, fmt::format("the range of {} needs one of `step` and `times`", cite(axis_)), kRangeForm);
      return false;
    }
    return from_ && to_ && (step_ || times_);
  }

  std::optional<std::vector<Value>> refuse_many() {
    diagnostics_.add(node_.location, fmt::format("the range of {} has more than {} values", cite(axis_), kMostRangeValues),
                     fmt::format("write a larger `{}`", step_ ? "step" : "times"));
    return std::nullopt;
  }

  std::optional<std::vector<Value>> refuse_missed(const Value& last, const Value& next) {
    refuse("to",
           fmt::format("the range of {} has {} and then {}: it misses its end {}", cite(axis_), last.text(), next.text(),
                       to_->value.text()),
           fmt::format("write `to: {}` or `to: {}`", last.text(), next.text()));
    return std::nullopt;
  }

  std::optional<std::vector<Value>> by_step() {
    if (step_->exact.digits <= 0) {
      refuse("step", fmt::format("{} must be more than 0", cite(reader_.path("step"))),
             "the table sorts the values in any case");
      return std::nullopt;
    }
    const int exponent = std::min({from_->exact.exponent, to_->exact.exponent, step_->exact.exponent});
    const std::optional<long long> from = digits_at(from_->exact, exponent);
    const std::optional<long long> to = digits_at(to_->exact, exponent);
    const std::optional<long long> step = digits_at(step_->exact, exponent);
    if (!from || !to || !step) {
      diagnostics_.add(node_.location, fmt::format("the values of the range of {} have more than 18 digits", cite(axis_)),
                       "list the values");
      return std::nullopt;
    }
    const auto value_at = [&](long long k) { return as_value(normalised({*from + k * *step, exponent})); };
    const long long steps = (*to - *from) / *step;
    if (steps >= kMostRangeValues) return refuse_many();
    if ((*to - *from) % *step != 0) return refuse_missed(value_at(steps), value_at(steps + 1));
    std::vector<Value> values;
    for (long long k = 0; k <= steps; ++k) values.push_back(value_at(k));
    return values;
  }

  std::optional<std::vector<Value>> by_factor() {
    if (times_->value <= Value::from_integer(1)) {
      refuse("times", fmt::format("{} must be more than 1", cite(reader_.path("times"))),
             "each value is `times` as large as the one before: times: 2");
      return std::nullopt;
    }
    if (from_->exact.digits <= 0) {
      refuse("from", fmt::format("{} must be more than 0, as `times` multiplies it", cite(reader_.path("from"))),
             "a range with `step` may begin at 0");
      return std::nullopt;
    }
    std::vector<Value> values;
    std::optional<ExactNumber> next = from_->exact;
    while (true) {
      const Value value = as_value(*next);
      if (value > to_->value) return refuse_missed(values.back(), value);
      values.push_back(value);
      if (value == to_->value) return values;
      if (static_cast<long long>(values.size()) >= kMostRangeValues) return refuse_many();
      next = product(*next, times_->exact);
      if (!next) break;
    }
    diagnostics_.add(node_.location, fmt::format("values of the range of {} get more than 18 digits", cite(axis_)),
                     "list the values");
    return std::nullopt;
  }

  const std::string& axis_;
  const YamlNode& node_;
  Diagnostics& diagnostics_;
  MapReader reader_;
  std::optional<Bound> from_, to_, step_, times_;
};

std::string range_text(long long from, long long to, long long step) {
  return fmt::format("{{from: {}, to: {}, step: {}}}", from, to, step);
}

/// Python's range, whose end is not among its values.
std::string python_range(std::string_view arguments) {
  long long from = 0, to = 0, step = 1;
  if (!RE2::FullMatch(arguments, R"(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?)", &from, &to,
                      static_cast<void*>(nullptr))) {
    if (!RE2::FullMatch(arguments, R"(\s*(-?\d{1,9})\s*)", &to)) return "";
  }
  RE2::FullMatch(arguments, R"(\s*-?\d{1,9}\s*,\s*-?\d{1,9}\s*,\s*(\d{1,9})\s*)", &step);
  return to > from && step > 0 ? range_text(from, from + (to - 1 - from) / step * step, step) : "";
}

}  // namespace

std::optional<YamlNode> written_out(const YamlKey& axis, const YamlNode& range, Diagnostics& diagnostics) {
  const std::optional<std::vector<Value>> values = RangeReader(axis.name, range, diagnostics).read();
  if (!values) return std::nullopt;
  YamlNode list;
  list.kind = YamlNode::Kind::list;
  list.location = range.location;
  for (const Value& value : *values) {
    YamlNode item;
    item.kind = YamlNode::Kind::scalar;
    item.text = value.text();
    item.location = range.location;
    list.items.push_back(std::move(item));
  }
  return list;
}

bool refuse_other_range(const YamlKey& axis, const YamlNode& node, bool alone, Diagnostics& diagnostics) {
  if (!node.is_scalar() || node.quoted) return false;
  std::string text = node.text;
  std::string meant;
  long long from = 0, to = 0;
  if (text.starts_with("range(")) {
    // Within brackets YAML cuts it at its commas.
    const std::string& source = node.location.source->text();
    const std::size_t end = source.find_first_of(")\n", node.location.offset);
    if (end == std::string::npos || source[end] != ')') return false;
    text = source.substr(node.location.offset, end + 1 - node.location.offset);
    meant = python_range(std::string_view(text).substr(6, text.size() - 7));
  } else if (RE2::FullMatch(text, alone ? R"((-?\d{1,9})\s*(?:\.\.\.?|-|:)\s*(\d{1,9}))" : R"((-?\d{1,9})\.\.\.?(\d{1,9}))",
                            &from, &to)) {
    if (to > from) meant = range_text(from, to, 1);
    if (meant.empty() && text.find("..") == std::string::npos) return false;
  } else {
    return false;
  }
  diagnostics.add(node.location, fmt::format("{} is a text here, not a range", cite(text)),
                  fmt::format("write {}: {}{}", axis.name, meant.empty() ? "{from: 1, to: 8, step: 1}" : meant,
                              node.text == text ? fmt::format("; the text itself needs quotes: [\"{}\"]", text) : ""));
  return true;
}

}  // namespace hpcbench
