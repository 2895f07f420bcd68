#include "ingest/line_reader.hpp"

#include <doctest/doctest.h>

using namespace hpcbench;

TEST_CASE("the last line that says something") {
  CHECK(last_line("") == "");
  CHECK(last_line("\n \n") == "");
  CHECK(last_line("one\ntwo\n\n") == "two");
  CHECK(last_line("10%\r99%\r\n") == "99%");
  CHECK(last_line("the cause\n-----\n  =====  \n") == "the cause");
  CHECK(last_line("the cause\n\xE2\x94\x80 \xC3\xA9") == "\xE2\x94\x80 \xC3\xA9");
  CHECK(last_line("-----\n=====\n") == "=====");
}
