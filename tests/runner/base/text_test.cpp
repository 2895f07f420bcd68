#include "base/text.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

using namespace hpcbench;

TEST_CASE("plain numbers have three digits that count, and no exponent") {
  CHECK(plain_number(0) == "0");
  CHECK(plain_number(9.386e-5) == "0.0000939");
  CHECK(plain_number(0.1) == "0.1");
  CHECK(plain_number(1.5) == "1.5");
  CHECK(plain_number(12.345) == "12.3");
  CHECK(plain_number(100) == "100");
  CHECK(plain_number(12345.6) == "12346");
}

TEST_CASE("durations are read as sbatch reads them, and with units") {
  CHECK(parse_duration("90") == 5400.0);
  CHECK(parse_duration("02:30") == 150.0);
  CHECK(parse_duration("01:00:05") == 3605.0);
  CHECK(parse_duration("1-12") == 129600.0);
  CHECK(parse_duration("1-12:30:01") == 131401.0);
  CHECK(parse_duration("10s") == 10.0);
  CHECK(parse_duration("1.5h") == 5400.0);
  for (const char* bad : {"", "x", "1:2:3:4", "-5", "1e5", "s", "1-", "nan", "inf"}) CHECK_FALSE(parse_duration(bad));
}

TEST_CASE("shell_quote leaves plain words alone and quotes the rest") {
  CHECK(shell_quote("--epochs=3") == "--epochs=3");
  CHECK(shell_quote("").empty() == false);
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("$(touch x)") == "'$(touch x)'");
  CHECK(shell_quote("=x") == "'=x'");
  CHECK_THROWS_AS(shell_quote(std::string("a\0b", 3)), InputError);
}

TEST_CASE("JSON strings go there and back, and bytes that are no UTF-8 are replaced") {
  const std::string hard = "a\"b\\c\n\t\r\x01 \xC3\xA4 \xF0\x9F\x98\x80";
  CHECK(json_quote("a\"\n") == "\"a\\\"\\n\"");
  CHECK(json_unquote(json_quote(hard)) == hard);
  CHECK(json_unquote("\"\\ud83d\\ude00\"") == "\xF0\x9F\x98\x80");
  CHECK(json_quote("\xFF") == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("is_utf8 knows overlong forms and surrogates") {
  CHECK(is_utf8("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82"}) CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("a near name is suggested, a far one is not") {
  const std::vector<std::string> names = {"nodes", "gpus_per_node", "epochs"};
  CHECK(nearest("gpu_per_node", names) == "gpus_per_node");
  CHECK(nearest("epoch", names) == "epochs");
  CHECK(nearest("rnu", {"run", "show"}) == "run");
  CHECK_FALSE(nearest("banana", names));
  CHECK(did_you_mean("node", names) == " (did you mean `nodes`?)");
}

TEST_CASE("plain names are single file names") {
  CHECK(is_plain_name("squad_scaling-2.x"));
  for (const char* bad : {"", ".", "..", "a/b", "-x", "a b", "\xC3\xA4"}) CHECK_FALSE(is_plain_name(bad));
}

TEST_CASE("a person reads durations in his own units") {
  CHECK(human_duration(4.2) == "4.2 s");
  CHECK(human_duration(200) == "3 min 20 s");
  CHECK(human_duration(7500) == "2 h 05 min");
}

TEST_CASE("leading bytes order as texts do, bytes beyond ASCII last") {
  CHECK(leading_bytes("") == 0);
  CHECK(leading_bytes("A") == 0x4100000000000000);
  CHECK(leading_bytes("01234567") == 0x3031323334353637);
  CHECK(leading_bytes("0123456789") == leading_bytes("01234567"));
  CHECK(leading_bytes("ab") < leading_bytes("b"));
  CHECK(leading_bytes("z") < leading_bytes("\xC3\xA9"));
}
