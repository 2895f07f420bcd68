#include "base/units.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace hpcbench;

TEST_CASE("units of which one is a multiple of the other convert") {
  const auto factor = [](const std::string& from, const std::string& to) { return unit_factor(from, to).value_or(-1); };
  CHECK(factor("MB/s", "GB/s") == doctest::Approx(1e-3));
  CHECK(factor("GiB/s", "GB/s") == doctest::Approx(1.073741824));
  CHECK(factor("Gbit/s", "GB/s") == doctest::Approx(0.125));
  CHECK(factor("ms", "s") == doctest::Approx(1e-3));
  CHECK(factor("usec", "ms") == doctest::Approx(1e-3));
  CHECK(factor("MBytes/sec", "GB/s") == doctest::Approx(1e-3));
  CHECK(factor("MBps", "GB/s") == doctest::Approx(1e-3));
  CHECK(factor("Gbps", "GB/s") == doctest::Approx(0.125));
  CHECK(factor("GFlop/s", "TFLOP/s") == doctest::Approx(1e-3));
  CHECK(factor("Gflops", "TFLOPS") == doctest::Approx(1e-3));
  CHECK(factor("ktok/s", "tokens/s") == doctest::Approx(1e3));
  CHECK(factor("h", "min") == doctest::Approx(60));
  CHECK(factor("TFLOPS", "GFLOP/s") == doctest::Approx(1e3));
  CHECK(factor("TFLOPS/GPU", "TFLOP/s/device") == doctest::Approx(1));
  CHECK(factor("tokens/s/GPU", "tokens/GPU/s") == doctest::Approx(1));
  CHECK(factor("ktokens/s", "tokens / sec") == doctest::Approx(1e3));
  CHECK(factor("ns/day", "us/h") == doctest::Approx(1e-3 / 24));
  CHECK(factor("Matom-step/s", "atom-step/s") == doctest::Approx(1e6));
  CHECK(factor("Cells/s", "cell/s") == doctest::Approx(1));
  CHECK(factor("fortnights", "fortnights") == 1);
}

TEST_CASE("units of different things do not convert") {
  for (const auto& [from, to] : {std::pair("days/ns", "ns/day"), std::pair("GB/s", "it/s"), std::pair("GB", "GB/s"),
                                 std::pair("tokens/s", "tokens/s/GPU"), std::pair("Mb/s", "MB/s"), std::pair("%", "s"),
                                 std::pair("", "s"), std::pair("s", ""), std::pair("Kis", "s"), std::pair("m", "min")})
    CHECK_MESSAGE(!unit_factor(from, to), from, " ", to);
}

TEST_CASE("quotients of known units and other text are distinguished") {
  for (const char* unit : {"days/ns", "GB/s", "ktokens/s/GPU", "TFLOPS"}) CHECK_MESSAGE(is_known_quotient(unit), unit);
  for (const char* text : {"s", "GB", "a/b", "12/13", "s/epoch", "", "/", "and/or"})
    CHECK_MESSAGE(!is_known_quotient(text), text);
}
