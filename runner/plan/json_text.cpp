#include "plan/json_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"

namespace hpcbench {

std::string json_scalar(const Value& value) {
  if (value.is_text()) return value.canonical();
  if (value.is_number() && !std::isfinite(*value.number())) return json_quote(value.text());
  return value.text();
}

std::string json_object(const Bindings& bindings) {
  std::string out = "{";
  for (const auto& [name, value] : bindings) {
    if (out.size() > 1) out += ',';
    out += json_quote(name) + ':' + json_scalar(value);
  }
  return out + '}';
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += json_quote(text);
  }
  return out + ']';
}

std::string json_or_null(const std::optional<std::string>& text) { return text ? json_quote(*text) : "null"; }

std::string json_number(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? fmt::format("{}", *number) : "null";
}

}  // namespace hpcbench
