#include <doctest/doctest.h>

#include "stats/stats.hpp"

using namespace hpcbench;

TEST_CASE("efficiency is the speedup per gpu, relative to the baseline's") {
  CHECK(efficiency(3, 4, 1) == 0.75);
  CHECK(efficiency(3, 8, 2) == 0.75);
  CHECK(efficiency(1, 1, 1) == 1);
  for (const double speedup : {1.3402061855670104, 0.2, 1.1}) {
    for (int gpus = 1; gpus < 100; ++gpus) CHECK(efficiency(speedup, gpus, gpus) == speedup);  // 1.34... x 3 / 3 is not
  }
}

TEST_CASE("Karp-Flatt: the serial fraction") {
  CHECK(karp_flatt(2, 4, 1).value() == doctest::Approx(1.0 / 3));  // (1/2 - 1/4) / (3/4)
  CHECK(karp_flatt(4, 4, 1).value() == 0);
  CHECK(karp_flatt(5, 4, 1).value() < 0);                    // superlinear
  CHECK(karp_flatt(3.0000000000000004, 3, 1).value() == 0);  // of a ratio that went through logarithms
  CHECK_FALSE(karp_flatt(1, 1, 1));
  CHECK_FALSE(karp_flatt(2, 4, 2));
}

TEST_CASE("Holm steps down and stops at the first that is not rejected") {
  CHECK(holm({}, 0.05).empty());
  CHECK(holm({0.01, 0.04, 0.03, 0.005}, 0.05) == std::vector<bool>{true, false, false, true});  // limits .0125 .0167 .025 .05
  CHECK(holm({0.03, 0.02}, 0.05) == std::vector<bool>{true, true});
  CHECK(holm({0.03, 0.03}, 0.05) == std::vector<bool>{false, false});
}

TEST_CASE("outliers: beyond five scaled MAD from eight values on; below, one value far from all others") {
  // Median 10, deviations 0 to 2 with MAD 1: the limit is 5 x 1.4826 = 7.413.
  CHECK(outliers({8, 9, 9, 10, 10, 11, 11, 17.5}) == std::vector<std::size_t>{7});
  CHECK(outliers({8, 9, 9, 10, 10, 11, 11, 17.3}).empty());
  CHECK(outliers({100, 9, 9, 10, 10, 11, 11, 8}) == std::vector<std::size_t>{0});
  CHECK(outliers({9, 9, 10, 10, 11, 11, 100}) == std::vector<std::size_t>{6});  // seven values: twice the median
  CHECK(outliers({112.2, 462.6, 111.3}) == std::vector<std::size_t>{1});
  CHECK(outliers({100, 99, 40}) == std::vector<std::size_t>{2});
  CHECK(outliers({100, 99, 190}).empty());           // below twice
  CHECK(outliers({100, 130, 400, 99, 98}).empty());  // the others differ, too
  CHECK(outliers({100, 300}).empty());
  CHECK(outliers({-1, 0, 300}).empty());
  CHECK(outliers({10, 10, 10, 10, 10, 10, 10, 10.001}).empty());  // no spread to judge by
}
