#include "base/value.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace hpcbench;

TEST_CASE("numbers are equal by value and keep their spelling") {
  CHECK(Value::from_plain("1e-5") == Value::from_plain("0.00001"));
  CHECK(Value::from_plain("2") == Value::from_plain("2.0"));
  CHECK(Value::from_plain("1e2") == Value::from_plain("100"));
  CHECK(Value::from_plain("-0") == Value::from_plain("0"));
  CHECK(Value::from_plain("1e-5").text() == "1e-5");
  CHECK(Value::from_plain("9007199254740993") != Value::from_plain("9007199254740992"));
  CHECK(Value::from_plain("1.50").canonical() == "1.5");
  CHECK(Value::from_plain("120").canonical() == "120");
  CHECK(Value::from_plain("0.00001").canonical() == "1e-5");
}

TEST_CASE("what is not JSON's number form is text") {
  for (const char* text : {"010", "0x10", "yes", "on", ".5", "1.", "+1", "1_000", "null", "~", ""}) {
    CHECK(Value::from_plain(text).is_text());
    CHECK(Value::from_plain(text).text() == text);
  }
  CHECK(Value::from_plain("true").kind() == Value::Kind::boolean);
  CHECK(Value::from_text("2") != Value::from_plain("2"));
}

TEST_CASE("integers are those that fit") {
  CHECK(Value::from_plain("4.0").integer() == 4);
  CHECK(Value::from_plain("1e3").integer() == 1000);
  CHECK_FALSE(Value::from_plain("4.5").integer());
  CHECK_FALSE(Value::from_plain("99999999999999999999").integer());
  CHECK_FALSE(Value::from_text("4").integer());
}

TEST_CASE("canonical text goes there and back") {
  CHECK(rc::check("from_canonical inverts canonical", [](int mantissa, short exponent) {
    const Value value = Value::from_plain(std::to_string(mantissa) + "e" + std::to_string(exponent % 400));
    RC_ASSERT(Value::from_canonical(value.canonical()) == value);
  }));
  CHECK(rc::check("of text, too", [](const std::string& text) {
    const Value value = Value::from_text(text);
    RC_ASSERT(Value::from_canonical(value.canonical()).canonical() == value.canonical());
  }));
}

TEST_CASE("a condition matches by name and any of its values") {
  const Bindings point = {{"strategy", Value::from_text("ddp")}, {"nodes", Value::from_plain("2")}};
  CHECK(matches({}, point));
  CHECK(matches({{"nodes", {Value::from_plain("1"), Value::from_plain("2.0")}}}, point));
  CHECK_FALSE(matches({{"nodes", {Value::from_plain("1")}}}, point));
  CHECK_FALSE(matches({{"epochs", {Value::from_plain("1")}}}, point));
  CHECK(describe(point) == "strategy=ddp, nodes=2");
}
