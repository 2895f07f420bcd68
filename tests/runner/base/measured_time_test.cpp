#include "base/measured_time.hpp"

#include <doctest/doctest.h>

using namespace hpcbench;

TEST_CASE("times as programs and people print them") {
  CHECK(parse_measured_time("63 min 48 s") == 3828.0);
  CHECK(parse_measured_time("8 min 02 s") == 482.0);
  CHECK(parse_measured_time("1 h 3 min") == 3780.0);
  CHECK(parse_measured_time("2m30.5s") == 150.5);
  CHECK(parse_measured_time("0.5 min") == 30.0);
  CHECK(parse_measured_time("1d2h") == 93600.0);
  CHECK(parse_measured_time("250 ms") == 0.25);
  CHECK(parse_measured_time("500 us") == doctest::Approx(500e-6));
  CHECK(parse_measured_time("2 msec") == doctest::Approx(2e-3));
  CHECK(parse_measured_time("7usec") == doctest::Approx(7e-6));
  CHECK(parse_measured_time("3 \u00b5s") == doctest::Approx(3e-6));
  CHECK(parse_measured_time("1:03:48") == 3828.0);
  CHECK(parse_measured_time("63:48") == 3828.0);
  CHECK(parse_measured_time("00:00.250") == 0.25);
  CHECK(parse_measured_time("1-02:03:04") == 93784.0);
  for (const char* bad : {"", "5", "s", "5 x", "48 s 63 min", "5 s 5 s", "1:75:00", "1:2:3:4", "-5 s", "1.5:00", "1..5 s", ":",
                          "1:", "1e3 s", "min 5"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_measured_time(bad));
  }
}

TEST_CASE("plain numbers") {
  CHECK(parse_plain_number("-1.5e3") == -1500.0);
  for (const char* bad : {"", " 1", "1 ", "1,0", "inf", "nan", "1e999", "0x1"}) CHECK_FALSE(parse_plain_number(bad));
}
