#include "base/json_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

using namespace hpcbench;

TEST_CASE("valid JSON is what RFC 8259 says, and the numbers that Python writes for a diverged loss") {
  for (const char* text : {"{}", "[]", " [1 , 2.5e-3,-0,\"a\\u00e9\\n\"] ", "null", "true", "{\"a\":{\"b\":[{}]}}", "1e999",
                           "NaN", "-Infinity", "{\"x\": Infinity}"}) {
    CAPTURE(text);
    CHECK(is_json(text));
  }
  for (const char* text :
       {"",   "{",   "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]",        "[1 2]", "01",    "1.", ".5",    "+1",
        "1e", "'a'", "nan",     "\"a",      "\"\\x\"",    "\"\\u12g4\"", "tru",   "{} {}", "-",  "{1:2}", "\"a\nb\""}) {
    CAPTURE(text);
    CHECK_FALSE(is_json(text));
  }
  CHECK(is_json(std::string(64, '[') + std::string(64, ']')));
  CHECK_FALSE(is_json(std::string(65, '[') + std::string(65, ']')));
  CHECK_FALSE(is_json(std::string(1'000'000, '[')));
}

TEST_CASE("members keep their order and their text; the last of equal keys counts") {
  JsonMembers members;
  REQUIRE(scan_object(R"( {"a": 1.50, "b":{"c":[1,2]}, "a":"x"} )", members));
  REQUIRE(members.size() == 3);
  CHECK(members[0].value == "1.50");
  CHECK(members[1].value == R"({"c":[1,2]})");
  CHECK(find_member(members, "a") == "\"x\"");
  CHECK(find_member(members, "z").empty());
  CHECK_FALSE(scan_object("[1]", members));
  CHECK(members.empty());
  CHECK(scan_array("[1,\"b\", [2]]") == std::vector<std::string_view>{"1", "\"b\"", "[2]"});
  CHECK_FALSE(scan_array("{}"));
}

TEST_CASE("scalars: absent is never zero") {
  CHECK(json_number("-1.5e2") == -150.0);
  for (const char* text : {"", "null", "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "\"1\"", "true", "[1]"}) {
    CAPTURE(text);
    CHECK_FALSE(json_number(text));
  }
  CHECK(json_integer("3.0") == 3);
  CHECK(json_integer("-9223372036854775808") == std::numeric_limits<long long>::min());
  CHECK_FALSE(json_integer("3.5"));
  CHECK_FALSE(json_integer("1e300"));
  CHECK(json_string(R"("a\"\u00e9")") == "a\"\xC3\xA9");
  CHECK(json_string("\"\\ud800\"") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(json_string("\"\xFF\"") == "\xEF\xBF\xBD");
  CHECK_FALSE(json_string("1"));
  CHECK(json_flag("true") == true);
  CHECK_FALSE(json_flag("1"));
  CHECK(json_scalar_text("0.10") == "0.10");
  CHECK_FALSE(json_scalar_text("null"));
  CHECK_FALSE(json_scalar_text("{}"));
}

TEST_CASE("bindings keep the spelling of numbers and the kind of values") {
  const Bindings bindings = json_bindings(R"({"lr":5e-05,"n":1.0,"text":"2","flag":true,"none":null,"list":[1]})");
  REQUIRE(bindings.size() == 4);
  CHECK(bindings[0].second.text() == "5e-05");
  CHECK(bindings[0].second == Value::from_plain("0.00005"));
  CHECK(bindings[1].second.text() == "1.0");
  CHECK(bindings[2].second.is_text());
  CHECK(bindings[3].second.kind() == Value::Kind::boolean);
  CHECK(bindings_json(bindings) == R"({"lr":5e-05,"n":1.0,"text":"2","flag":true})");
  CHECK(json_bindings("[1]").empty());
}

TEST_CASE("it accepts what another JSON library accepts, on mutated texts") {
  const std::string text = R"({"v":1,"t":1763650000.125,"event":"epoch","x":[1,-2.5e+3,{"k":null}],"s":"a\"\\\u0041"})";
  CHECK(rc::check("agrees with nlohmann-json", [&](unsigned at, unsigned char byte, unsigned cut) {
    std::string mutated = text;
    mutated[at % mutated.size()] = static_cast<char>(byte % 128);
    if (cut % 3 == 0) mutated.resize(cut % mutated.size());
    const auto other = nlohmann::json::parse(mutated, nullptr, false);
    // It refuses a number beyond double's range, which is a number still.
    RC_ASSERT(is_json(mutated) == !other.is_discarded());
  }));
}

TEST_CASE("values at a pointer with `*` and `[name=text]`") {
  const std::string text = R"({"contexts": [{"name": "null", "foms": [{"name": "t", "value": "1"}]},
    {"name": "solve", "foms": [{"name": "t", "value": "2"}, {"name": "u", "value": 3}]}], "a/b": null})";
  const auto at = [&](const char* pointer) {
    std::string found;
    for (const std::string_view value : json_values_at(text, pointer)) found += std::string(value) + ' ';
    return found;
  };
  CHECK(at("/contexts/[name=solve]/foms/[name=t]/value") == "\"2\" ");
  CHECK(at("/contexts/*/foms/[name=t]/value") == "\"1\" \"2\" ");
  CHECK(at("/contexts/1/foms/[value=3]/name") == "\"u\" ");
  CHECK(at("/contexts/[name=none]/foms") == "");
  CHECK(at("/a~1b") == "null ");
  CHECK(at("/contexts/*/name/x") == "");
  CHECK(json_values_at("[1,2]", "").size() == 1);
  CHECK(json_values_at("[1,2]", "no pointer").empty());
}
