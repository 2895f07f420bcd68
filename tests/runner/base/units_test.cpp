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

TEST_CASE("letters of another case are read where they leave one meaning") {
  const auto factor = [](const std::string& from, const std::string& to) { return unit_factor(from, to).value_or(-1); };
  CHECK(factor("gflop/s", "GFLOP/s") == 1);
  CHECK(factor("Sec", "s") == 1);
  CHECK(factor("TOKENS/S", "tokens/s") == 1);
  CHECK(factor("gB/s", "GB/s") == 1);
  for (const char* unit : {"mb/s", "Mb", "gb/s", "mw"}) CHECK_MESSAGE(!is_known_unit(unit), unit);
  CHECK(other_spelling_of_unit("mb/s") == "`MB/s` or `Mbit/s`");
  CHECK(other_spelling_of_unit("gb") == "`GB` or `Gbit`");
  for (const char* unit : {"MB/s", "mW", "it/s", "s", "", "epochs", "GB/S"})
    CHECK_MESSAGE(other_spelling_of_unit(unit).empty(), unit);
}

TEST_CASE("a word of a unit is a time or counts hardware, in one table with its factor") {
  for (const char* word : {"s", "usec", "msec", "Nanoseconds", "week", "months", "years", "\u00b5s", "hrs"})
    CHECK_MESSAGE(word_of_unit(word).is_time, word);
  for (const char* word : {"s", "min", "Day", "hrs"}) CHECK_MESSAGE(word_of_unit(word).is_wall_time, word);
  for (const char* word : {"ms", "week", "years", "GB", "step"}) CHECK_MESSAGE(!word_of_unit(word).is_wall_time, word);
  CHECK(word_of_unit("device").counted == "gpus");
  CHECK(word_of_unit("process").counted == "ranks");
  CHECK(word_of_unit("Node").counted == "nodes");
  CHECK(word_of_unit("token").counted.empty());
  CHECK(!is_known_unit("node"));
}

TEST_CASE("quotients of known units and other text are distinguished") {
  for (const char* unit : {"days/ns", "GB/s", "ktokens/s/GPU", "TFLOPS"}) CHECK_MESSAGE(is_known_quotient(unit), unit);
  for (const char* text : {"s", "GB", "a/b", "12/13", "s/epoch", "", "/", "and/or"})
    CHECK_MESSAGE(!is_known_quotient(text), text);
}
