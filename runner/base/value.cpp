#include "base/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace hpcbench {

struct Value::Data {
  Kind kind = Kind::text;
  std::string text;
  std::string canonical;
  std::optional<double> number;
  std::optional<std::vector<std::string>> list;
};

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Decimal {
  bool negative = false;
  std::string digits;      // without leading or trailing zeros; empty for zero
  long long exponent = 0;  // value = 0.DIGITS * 10^exponent
};

/// Reads JSON's number form and nothing else.
std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal result;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '-') {
    result.negative = true;
    ++i;
  }
  const std::size_t integer_begin = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  const std::size_t integer_digits = i - integer_begin;
  if (integer_digits == 0 || (integer_digits > 1 && text[integer_begin] == '0')) return std::nullopt;
  result.digits = text.substr(integer_begin, integer_digits);
  result.exponent = static_cast<long long>(integer_digits);
  if (i < text.size() && text[i] == '.') {
    const std::size_t begin = ++i;
    while (i < text.size() && is_digit(text[i])) ++i;
    if (i == begin) return std::nullopt;
    result.digits += text.substr(begin, i - begin);
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool minus = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    const std::size_t begin = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    if (i == begin || i - begin > 9) return std::nullopt;  // no program means 10^(10^9)
    long long power = 0;
    std::from_chars(text.data() + begin, text.data() + i, power);
    result.exponent += minus ? -power : power;
  }
  if (i != text.size()) return std::nullopt;
  const std::size_t first = result.digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{};
  result.digits.erase(0, first);
  result.exponent -= static_cast<long long>(first);
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  return result;
}

/// Returns plain notation for magnitudes that people write plainly, scientific otherwise: one spelling for each value.
std::string canonical_decimal(const Decimal& decimal) {
  if (decimal.digits.empty()) return "0";
  const auto count = static_cast<long long>(decimal.digits.size());
  std::string out = decimal.negative ? "-" : "";
  if (decimal.exponent > 21 || decimal.exponent < -3) {
    out += decimal.digits[0];
    if (count > 1) out += '.' + decimal.digits.substr(1);
    return out + 'e' + std::to_string(decimal.exponent - 1);
  }
  if (decimal.exponent <= 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-decimal.exponent), '0') + decimal.digits;
  }
  if (count <= decimal.exponent) {
    return out + decimal.digits + std::string(static_cast<std::size_t>(decimal.exponent - count), '0');
  }
  const auto point = static_cast<std::size_t>(decimal.exponent);
  return out + decimal.digits.substr(0, point) + '.' + decimal.digits.substr(point);
}

}  // namespace

Value::Value() : Value(from_text("")) {}

Value::Value(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

Value Value::from_plain(std::string_view scalar) {
  if (scalar == "true" || scalar == "false") return from_boolean(scalar == "true");
  const std::optional<Decimal> decimal = read_decimal(scalar);
  if (!decimal) return from_text(scalar);
  auto data = std::make_shared<Data>();
  data->kind = Kind::number;
  data->text = scalar;
  data->canonical = canonical_decimal(*decimal);
  double number = 0;
  const auto read = std::from_chars(scalar.data(), scalar.data() + scalar.size(), number);
  if (read.ec == std::errc::result_out_of_range) {
    number = decimal->exponent < 0 ? 0.0 : HUGE_VAL;
    if (decimal->negative) number = -number;
  }
  data->number = number;
  return Value(std::move(data));
}

Value Value::from_text(std::string_view text) {
  auto data = std::make_shared<Data>();
  data->text = text;
  data->canonical = json_quote(text);
  return Value(std::move(data));
}

Value Value::from_integer(long long number) { return from_plain(std::to_string(number)); }

Value Value::from_boolean(bool flag) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::boolean;
  data->text = flag ? "true" : "false";
  data->canonical = data->text;
  return Value(std::move(data));
}

Value Value::from_list(std::vector<std::string> words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quote(word));
  auto data = std::make_shared<Data>();
  data->text = join(quoted, " ");
  data->canonical = json_quote(data->text);
  data->list = std::move(words);
  return Value(std::move(data));
}

Value Value::from_canonical(std::string_view json) {
  if (!json.empty() && json.front() == '"') return from_text(json_unquote(json));
  return from_plain(json);
}

Value::Kind Value::kind() const { return data_->kind; }

const std::string& Value::text() const { return data_->text; }

const std::string& Value::canonical() const { return data_->canonical; }

const std::vector<std::string>* Value::list() const { return data_->list ? &*data_->list : nullptr; }

std::optional<double> Value::number() const { return data_->number; }

std::optional<long long> Value::integer() const {
  if (!is_number()) return std::nullopt;
  const std::string& digits = data_->canonical;
  long long number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::weak_ordering operator<=>(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return a.kind() <=> b.kind();
  if (a.is_number() && *a.number() != *b.number()) {
    return *a.number() < *b.number() ? std::weak_ordering::less : std::weak_ordering::greater;
  }
  if (a.is_number()) return a.canonical() <=> b.canonical();
  return a.text() <=> b.text();
}

const Value* find_binding(const Bindings& bindings, std::string_view name) {
  const auto found = std::find_if(bindings.begin(), bindings.end(), [&](const auto& b) { return b.first == name; });
  return found == bindings.end() ? nullptr : &found->second;
}

bool matches(const Condition& condition, const Bindings& bindings) {
  return std::all_of(condition.begin(), condition.end(), [&](const auto& clause) {
    const Value* value = find_binding(bindings, clause.first);
    return value != nullptr && std::find(clause.second.begin(), clause.second.end(), *value) != clause.second.end();
  });
}

std::string describe(const Bindings& bindings) {
  std::string out;
  for (const auto& [name, value] : bindings) out += (out.empty() ? "" : ", ") + name + '=' + value.text();
  return out;
}

}  // namespace hpcbench
