#include "ingest/line_reader.hpp"

#include <doctest/doctest.h>

#include "attempt_folder.hpp"
#include "ingest/metric_reader.hpp"

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

TEST_CASE("a line of a progress bar comes whole, and one above 64 MiB is cut between its states") {
  for (const long long states : {300'000, 6'200'000}) {
    AttemptFolder attempt;
    std::string bar;
    for (long long i = 0; i < states; ++i) bar += std::to_string(10'000'000 + i) + ".5\r";
    const std::string path = attempt.file("stdout.log", bar + "\nend\n").path() + "/stdout.log";
    long long pieces = 0;
    std::string read;
    CHECK_FALSE(read_lines(path, [&](std::string_view piece) {
      ++pieces;
      CHECK((piece.ends_with('\r') || piece.ends_with('\n')));
      read += piece;
      return true;
    }));
    CHECK(read == bar + "\nend\n");
    CHECK(pieces == (states == 300'000 ? 1 : 2));
    Metric least{"least", "stdout.log", "([0-9.]+)"};
    least.take = "min";
    CHECK(read_metric(least, {path}, {"stdout.log"}).value == 10'000'000.5);
  }
}
