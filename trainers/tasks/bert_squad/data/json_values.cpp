#include <charconv>

#include "base/text.hpp"
#include "tasks/bert_squad/data/json_pull.hpp"
#include "tasks/bert_squad/text/utf8.hpp"

// Strings, numbers and words; json_pull.cpp reads the structure around them.

namespace hpcbench::train {

namespace {

constexpr std::size_t kLongestString = 1U << 26U;  // bytes: bounds the memory for a hostile file

}  // namespace

void JsonPull::read_string(std::string& text) {
  expect("a string");
  const Place begin = here();
  take();
  text.clear();
  while (true) {
    const std::size_t from = position_;
    while (position_ < end_) {
      const auto byte = static_cast<unsigned char>(buffer_[position_]);
      if (byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) break;
      ++position_;
    }
    text.append(buffer_.data() + from, position_ - from);
    if (text.size() > kLongestString) fail(begin, "this string is longer than 64 MiB");
    const int byte = peek();
    if (byte < 0) fail(begin, "this string has no end: the file ends before it");
    if (byte == '"') break;
    if (byte == '\\') {
      read_escape(text);
    } else if (byte >= 0x80) {
      read_wide(byte, text);
    } else if (byte < 0x20) {
      fail(here(), concat(shown_byte(byte), " must be escaped in a string"));
    }
  }
  take();
}

void JsonPull::read_wide(int lead, std::string& text) {
  const Place begin = here();
  const int length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  std::string bytes;
  for (int i = 0; i < length; ++i) {
    const int byte = peek();
    if (byte < 0x80) break;
    bytes.push_back(static_cast<char>(take()));
  }
  std::size_t position = 0;
  if (!next_code_point(bytes, position)) fail(begin, concat("this is no UTF-8: ", shown_byte(lead)));
  text += bytes;
}

char32_t JsonPull::read_hex() {
  char32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const Place at = here();
    const int byte = take();
    const int digit = byte >= '0' && byte <= '9'                 ? byte - '0'
                      : (byte | 32) >= 'a' && (byte | 32) <= 'f' ? (byte | 32) - 'a' + 10
                                                                 : -1;
    if (byte < 0 || digit < 0) fail(at, concat("expected four hexadecimal digits after \\u, found ", shown_byte(byte)));
    value = value << 4U | static_cast<char32_t>(digit);
  }
  return value;
}

void JsonPull::read_escape(std::string& text) {
  const Place begin = here();
  take();
  const int byte = take();
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  const std::size_t index = byte < 0 ? std::string_view::npos : kNames.find(static_cast<char>(byte));
  if (index != std::string_view::npos) {
    text.push_back(kValues[index]);
    return;
  }
  if (byte != 'u') fail(begin, concat("there is no escape of a backslash and ", shown_byte(byte)));
  char32_t code_point = read_hex();
  if (code_point >= 0xdc00 && code_point < 0xe000)
    fail(begin, "this is the second half of a surrogate pair, without the first");
  if (code_point >= 0xd800 && code_point < 0xdc00) {
    const bool is_pair = take() == '\\' && take() == 'u';
    const char32_t low = is_pair ? read_hex() : 0;
    if (low < 0xdc00 || low >= 0xe000) fail(begin, "this is the first half of a surrogate pair, without the second");
    code_point = 0x10000 + ((code_point - 0xd800) << 10U) + (low - 0xdc00);
  }
  append_utf8(text, code_point);
}

std::string JsonPull::read_number() {
  expect("a number");
  const Place begin = here();
  std::string text;
  const auto digits = [&] {
    const std::size_t before = text.size();
    for (int byte = peek(); byte >= '0' && byte <= '9'; byte = peek()) text.push_back(static_cast<char>(take()));
    if (text.size() == before || text.size() > 1000) fail(begin, "this is no number of JSON");
  };
  if (peek() == '-') text.push_back(static_cast<char>(take()));
  const bool is_zero = peek() == '0';
  const std::size_t first = text.size();
  digits();
  if (is_zero && text.size() > first + 1) fail(begin, "a number of JSON has no leading zeros");
  if (peek() == '.') {
    text.push_back(static_cast<char>(take()));
    digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    text.push_back(static_cast<char>(take()));
    if (peek() == '+' || peek() == '-') text.push_back(static_cast<char>(take()));
    digits();
  }
  return text;
}

std::int64_t JsonPull::read_integer() {
  const Place begin = place();
  const std::string text = read_number();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(begin, concat("expected an integer, found ", text.substr(0, 40)));
  return value;
}

void JsonPull::read_word(std::string_view word) {
  const Place begin = here();
  for (const char letter : word) {
    if (take() != letter) fail(begin, concat("expected ", word));
  }
}

bool JsonPull::read_boolean() {
  expect("true or false");
  const bool value = peek() == 't';
  read_word(value ? "true" : "false");
  return value;
}

}  // namespace hpcbench::train
