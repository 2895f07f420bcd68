#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/error.hpp"
#include "tasks/bert_squad/data/json_pull.hpp"
#include "trainers/squad/features_fixture.hpp"

namespace hpcbench::train {

namespace {

/// Returns the error of reading all of `text` and discarding it, without the file's name; "" for JSON.
std::string json_error(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  squad_test::write_text(path, text);
  const std::string error = squad_test::thrown_by([&] {
    JsonPull json(path);
    json.skip_value();
    json.end();
  });
  const std::string begin = "error: " + path + ":";
  return error.starts_with(begin) ? error.substr(begin.size()) : error;
}

std::string read_one_string(const std::string& text) {
  const TemporaryFolder folder;
  squad_test::write_text(folder / "f", text);
  JsonPull json(folder / "f");
  std::string value;
  json.read_string(value);
  json.end();
  return value;
}

nlohmann::json any_json(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<int>();
    case 3:
      return *rc::gen::map(rc::gen::arbitrary<int>(), [](int n) { return n / 1024.0; });
    case 4:
      return *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    case 5: {
      auto array = nlohmann::json::array();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) array.push_back(any_json(depth - 1));
      return array;
    }
    default: {
      auto object = nlohmann::json::object();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) object["k" + std::to_string(n)] = any_json(depth - 1);
      return object;
    }
  }
}

}  // namespace

TEST_CASE("faults of JSON are told with line, column and path") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "1:1: expected a value, found the end of the file"},
      {"{\"a\": [1,\n 2,, 3]}", "2:4: expected a value, found `,` (in a[2])"},
      {"{\"a\": 1,}", "1:9: expected a key in quotation marks, found `}` (in a)"},
      {"[1 2]", "1:4: expected `,` or `]`, found `2` (in [0])"},
      {"[1,]", "1:4: expected a value, found `]` (in [1])"},
      {"{\"a\" 1}", "1:6: expected `:`, found `1` (in a)"},
      {"{\"a\": 1 \"b\": 2}", "1:9: expected `,` or `}`, found `\"` (in a)"},
      {"\"abc", "1:1: this string has no end: the file ends before it"},
      {"\"a\nb\"", "1:3: the byte 0x0a must be escaped in a string"},
      {"\"\\x\"", "1:2: there is no escape of a backslash and `x`"},
      {"\"\\u12g4\"", "1:6: expected four hexadecimal digits after \\u, found `g`"},
      {"\"\\ud800\"", "1:2: this is the first half of a surrogate pair, without the second"},
      {"\"\\udc00\"", "1:2: this is the second half of a surrogate pair, without the first"},
      {"\"ab\xff\"", "1:4: this is no UTF-8: the byte 0xff"},
      {"\"\xed\xa0\x80\"", "1:2: this is no UTF-8: the byte 0xed"},
      {"\"\xe2\x82", "1:2: this is no UTF-8: the byte 0xe2"},
      {"01", "1:1: a number of JSON has no leading zeros"},
      {"1.", "1:1: this is no number of JSON"},
      {"-", "1:1: this is no number of JSON"},
      {"1e", "1:1: this is no number of JSON"},
      {"nul", "1:1: expected null"},
      {"truth", "1:1: expected true"},
      {"NaN", "1:1: expected a value, found `N`"},
      {"[] []", "1:4: nothing may follow the document, found `[`"},
  };
  for (const auto& [text, error] : cases) {
    CAPTURE(text);
    CHECK(json_error(text) == error);
  }
  CHECK(json_error(std::string(100000, '[')).starts_with("1:201: this is nested deeper than 200 levels (in [0][0]"));
  CHECK(json_error(std::string(190, '[') + std::string(190, ']')).empty());
  CHECK(json_error("\xef\xbb\xbf{}").empty());
  CHECK(squad_test::thrown_by([] { JsonPull json("/no/such/file"); }) ==
        "error: /no/such/file cannot be read: No such file or directory");
}

TEST_CASE("strings come as they are meant, over the edges of the buffer too") {
  CHECK(read_one_string(R"("a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")") == "a\"\\/\b\f\n\r\t\u00e9\U0001f600");
  for (std::size_t length = (1U << 18U) - 8; length < (1U << 18U) + 2; ++length) {
    const std::string padding(length, 'x');
    CHECK(read_one_string("\"" + padding + "\U0001f600\\u0041\"") == padding + "\U0001f600A");
  }
}

TEST_CASE("another reader agrees on what is JSON") {
  REQUIRE(rc::check("values are passed over whole", [] {
    const nlohmann::json value = any_json(3);
    RC_ASSERT(json_error(value.dump(*rc::gen::inRange(-1, 3))).empty());
    RC_ASSERT(json_error(value.dump(-1, ' ', true)).empty());
  }));
  REQUIRE(rc::check("strings are read as they were written", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    RC_ASSERT(read_one_string(nlohmann::json(text).dump()) == text);
  }));
  REQUIRE(rc::check("a changed byte is refused by both or by none", [] {
    std::string text = any_json(2).dump();
    const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
    const char byte = static_cast<char>(*rc::gen::inRange(1, 256));  // nlohmann's reader takes a NUL for the end
    if (byte == '\xef' || byte == 'e' || byte == 'E')
      return;  // and has bounds for numbers, and another idea of byte order marks
    text[place] = byte;
    const std::string error = json_error(text);
    RC_ASSERT(error.empty() == nlohmann::json::accept(text));
  }));
}

}  // namespace hpcbench::train
