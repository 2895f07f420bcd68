#include "base/json_writer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "base/json_text.hpp"
#include "base/metric.hpp"

namespace hpcbench {
namespace {

TEST_CASE("json writer: values of every type") {
  CHECK(to_json("a\"\n\x01") == R"("a\"\n\u0001")");
  CHECK(to_json(std::string("caf\xC3\xA9 \xFF")) == "\"caf\xC3\xA9 \xEF\xBF\xBD\"");
  CHECK(to_json(true) == "true");
  CHECK(to_json(-7LL) == "-7");
  CHECK(to_json(0.1) == "0.1");
  CHECK(to_json(3.0) == "3");
  CHECK(to_json(std::nan("")) == "null");
  CHECK(to_json(std::optional<int>()) == "null");
  CHECK(to_json(std::optional<std::string>("x")) == "\"x\"");
  CHECK(to_json(text_or_null("")) == "null");
  CHECK(to_json(json_time(1.23456)) == "1.235");
  CHECK(to_json(std::vector<std::optional<int>>{1, {}}) == "[1,null]");
  CHECK(to_json(std::map<std::string, std::vector<int>>{{"b", {}}, {"a", {1, 2}}}) == R"({"a":[1,2],"b":[]})");
  CHECK(to_json(Bindings{{"lr", Value::from_plain("5e-05")},
                         {"n", Value::from_plain("1.0")},
                         {"huge", Value::from_plain("1e999")},
                         {"text", Value::from_text("2")},
                         {"flag", Value::from_boolean(true)}}) ==
        R"({"lr":5e-05,"n":1.0,"huge":"1e999","text":"2","flag":true})");
  CHECK(to_json(FormulaNames{{{"n", Value::from_plain("2")}}, {{"d", "n * 2"}}}) ==
        R"({"parameters":{"n":2},"derived":{"d":"n * 2"}})");
}

TEST_CASE("json writer: layouts, and lines broken by hand") {
  JsonWriter json;
  json.begin_object(JsonLayout::lines).member("a", 1).key("list").begin_array(JsonLayout::lines);
  json.begin_object().member("x", 1).member("y", 2).end().value(3).end();
  json.key("empty").begin_array(JsonLayout::lines).end().key("spaced").begin_object(JsonLayout::spaced);
  json.member("k", "v").end().key("broken").begin_array().value(1).break_line(3).value(2).break_line(1).end().end();
  const std::string text = json.take();
  CHECK(text == R"({
  "a": 1,
  "list": [
    {"x":1,"y":2},
    3
  ],
  "empty": [],
  "spaced": {"k": "v"},
  "broken": [1,
   2
 ]
})");
  CHECK(is_json(text));
}

TEST_CASE("json writer: text can be taken piece by piece") {
  JsonWriter json(1);
  json.begin_array(JsonLayout::lines);
  std::string text;
  for (int i = 0; i < 3; ++i) text += json.value(i).take();
  CHECK(text + json.end().take() == "[\n 0,\n 1,\n 2\n]");
}

}  // namespace
}  // namespace hpcbench
