#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

/// Text that is already one JSON value.
struct JsonText {
  std::string text;
};

/// The layout of an object or a list: `{"a":1,"b":2}`, `{"a": 1,"b": 2}`, or each member on its own line.
enum class JsonLayout { compact, spaced, lines };

/// Writes JSON as text, value by value: it keeps numbers as people spelled them, and a hundred thousand rows cost no tree. All
/// JSON that the program writes comes from here, but for documents of JSON Schema.
///
///     JsonWriter json;
///     json.begin_object().member("n", 3).key("runs").begin_array().value("r01").end().end();
///     json.take();  // {"n":3,"runs":["r01"]}
///
/// Values: texts (what is not UTF-8 becomes U+FFFD), flags, integers, doubles (shortest form; null if not finite), `Value` (as
/// spelled; quoted where no double holds it), JsonText, and optionals (null if absent), lists, maps and lists of pairs of
/// these. A type of its own gets a function `void write_json(JsonWriter&, const Type&)` in its namespace, not an unnamed one.
class JsonWriter {
 public:
  /// `indent`: blanks before a line for each level.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& begin_object(JsonLayout layout = JsonLayout::compact) { return open('{', '}', layout); }
  JsonWriter& begin_array(JsonLayout layout = JsonLayout::compact) { return open('[', ']', layout); }
  /// Ends the innermost object or list.
  JsonWriter& end();
  JsonWriter& key(std::string_view name);
  template <class T>
  JsonWriter& value(const T& value);
  template <class T>
  JsonWriter& member(std::string_view name, const T& value) {
    return key(name).value(value);
  }
  /// Begins a line with this many blanks before the next member, element or end.
  JsonWriter& break_line(int blanks);

  /// Returns the text since the previous call. Writing may continue.
  std::string take() { return std::exchange(text_, {}); }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  std::size_t size() const { return text_.size(); }

 private:
  struct Level {
    char closing;
    JsonLayout layout;
    bool is_empty = true;
  };

  JsonWriter& open(char opening, char closing, JsonLayout layout);
  void begin_element();
  void start_line(int blanks);
  JsonWriter& plain(std::string_view text);
  JsonWriter& quoted(std::string_view text);

  std::string text_;
  std::vector<Level> levels_;
  std::optional<int> break_;
  int indent_;
  bool after_key_ = false;
};

/// Returns the value as JSON.
template <class T>
std::string to_json(const T& value, int indent = 2) {
  JsonWriter json(indent);
  json.value(value);
  return json.take();
}

/// Returns seconds with a fixed number of decimals.
inline JsonText json_time(double seconds, int decimals = 3) { return {fmt::format("{:.{}f}", seconds, decimals)}; }

/// Returns `null` for an empty text.
inline std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

template <class T>
JsonWriter& JsonWriter::value(const T& value) {
  if constexpr (requires { write_json(*this, value); }) {
    write_json(*this, value);
  } else if constexpr (std::same_as<T, JsonText>) {
    plain(value.text);
  } else if constexpr (std::same_as<T, bool>) {
    plain(value ? "true" : "false");
  } else if constexpr (std::integral<T>) {
    plain(fmt::format_int(value).c_str());
  } else if constexpr (std::floating_point<T>) {
    plain(std::isfinite(value) ? fmt::format("{}", value) : "null");
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    quoted(value);
  } else if constexpr (std::same_as<T, Value>) {
    const std::optional<double> number = value.number();
    value.is_text() ? plain(value.canonical()) : number && !std::isfinite(*number) ? quoted(value.text()) : plain(value.text());
  } else if constexpr (requires { value.has_value(); }) {
    value ? this->value(*value) : plain("null");
  } else if constexpr (requires { value.begin()->second; }) {
    begin_object();
    for (const auto& [name, each] : value) member(name, each);
    end();
  } else {
    begin_array();
    for (const auto& each : value) this->value(each);
    end();
  }
  return *this;
}

}  // namespace hpcbench
