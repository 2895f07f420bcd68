#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

const std::vector<double> kBaselineTimes = {10, 11, 12, 13, 14, 15};
const std::vector<double> kFasterTimes = {5.0, 5.5, 6.2, 6.6, 7.1, 7.3};

std::vector<double> positive_times(std::size_t count) {
  return *rc::gen::container<std::vector<double>>(count,
                                                  rc::gen::map(rc::gen::inRange(1, 100000), [](int n) { return n / 1000.0; }));
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

/// The estimate by its definition: all differences, sorted.
double hodges_lehmann_by_definition(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  for (const double x : a) {
    for (const double y : b) all.push_back(std::log(x) - std::log(y));
  }
  std::sort(all.begin(), all.end());
  return std::exp((all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2);
}

}  // namespace

TEST_CASE("summary: type 7 quartiles by hand") {
  CHECK_FALSE(summarise({}, 0.95));
  const auto four = summarise({4, 1, 3, 2}, 0.95);
  REQUIRE(four);
  CHECK(four->n == 4);
  CHECK(four->median == 2.5);
  CHECK(four->q1 == 1.75);  // position 0.75
  CHECK(four->q3 == 3.25);
  CHECK(four->min == 1);
  CHECK(four->max == 4);
  CHECK_FALSE(four->interval);
  const auto one = summarise({7}, 0.95);
  CHECK(one->median == 7);
  CHECK(one->q1 == 7);
  CHECK(one->q3 == 7);
}

TEST_CASE("interval of the median: order statistics") {
  const auto five = median_interval({1, 2, 3, 4, 5}, 0.95);
  REQUIRE(five);
  CHECK(five->low == 1);
  CHECK(five->high == 5);
  CHECK(five->coverage == 0.9375);
  const auto nine = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.95);
  CHECK(nine->low == 2);
  CHECK(nine->high == 8);
  CHECK(nine->coverage == 0.9609375);
  CHECK_FALSE(median_interval({}, 0.95));
}

TEST_CASE("speedup: Hodges and Lehmann of the logarithms, exact rank-sum interval") {
  const auto ratio = speedup(kBaselineTimes, kFasterTimes, 0.95);
  REQUIRE(ratio);
  CHECK(ratio->value == doctest::Approx(1.9858655472692468).epsilon(1e-12));  // by exact enumeration elsewhere
  REQUIRE(ratio->interval);
  CHECK(ratio->interval->low == doctest::Approx(10.0 / 6.2).epsilon(1e-12));  // the 6th smallest of the 36 ratios
  CHECK(ratio->interval->high == doctest::Approx(15.0 / 6.2).epsilon(1e-12));
  CHECK(ratio->interval->coverage == doctest::Approx(1 - 2 * 19.0 / 924).epsilon(1e-15));
  CHECK(ratio->resolved == true);
}

TEST_CASE("speedup: what cannot be had is absent") {
  CHECK_FALSE(speedup({}, {1}, 0.95));
  CHECK_FALSE(speedup({1}, {}, 0.95));
  const auto single = speedup({4}, {2}, 0.95);
  REQUIRE(single);
  CHECK(single->value == doctest::Approx(2).epsilon(1e-15));
  CHECK_FALSE(single->interval);
  CHECK_FALSE(single->resolved);
  const auto three = speedup({4, 4.1, 4.2}, {2, 2.1, 2.2}, 0.95);
  REQUIRE(three->interval);
  CHECK(three->interval->coverage == 0.9);  // the widest there is
  CHECK_FALSE(speedup({4, 4.1}, {2, 2.1, 2.2}, 0.95)->interval);
}

TEST_CASE("speedup: an interval that holds 1 is not resolved") {
  CHECK(speedup({10, 11, 12, 13, 14, 15}, {10.5, 11.5, 12.5, 13.5, 14.5, 9.5}, 0.95)->resolved == false);
  CHECK(speedup({5, 5.1, 5.2, 5.3}, {10, 10.1, 10.2, 10.3}, 0.95)->resolved == true);  // slower, and sure of it
}

TEST_CASE("speedup: runs without an end bound it from above only") {
  const double endless = std::numeric_limits<double>::infinity();
  const auto ratio = speedup({10, 10, 10, 10, 10, 10}, {5, 5, 5, 5, 5, endless}, 0.95);
  REQUIRE(ratio);
  CHECK(ratio->value == doctest::Approx(2).epsilon(1e-15));
  CHECK(ratio->interval->low == 0);
  CHECK(ratio->interval->high == doctest::Approx(2).epsilon(1e-15));
}

TEST_CASE("paired speedup: Walsh averages, exact signed-rank interval") {
  const auto ratio = paired_speedup(kBaselineTimes, kFasterTimes, 0.95);
  REQUIRE(ratio);
  CHECK(ratio->value == doctest::Approx(1.9858655472692468).epsilon(1e-12));
  REQUIRE(ratio->interval);
  CHECK(ratio->interval->low == doctest::Approx(12 / 6.2).epsilon(1e-12));  // least and largest of the six ratios: k = 1
  CHECK(ratio->interval->high == doctest::Approx(15 / 7.3).epsilon(1e-12));
  CHECK(ratio->interval->coverage == 0.96875);
  CHECK_FALSE(paired_speedup({}, {}, 0.95));
  CHECK_FALSE(paired_speedup({1, 2}, {1}, 0.95));
}

TEST_CASE("rank-sum p-value: exact") {
  CHECK(rank_sum_p_value({4, 5, 6}, {1, 2, 3}) == doctest::Approx(0.1).epsilon(1e-15));
  CHECK(rank_sum_p_value({1, 2, 3}, {4, 5, 6}) == doctest::Approx(0.1).epsilon(1e-15));
  CHECK(rank_sum_p_value({1, 4}, {2, 3}) == 1);
  CHECK(rank_sum_p_value({1, 2, 3, 4}, {5, 6, 7, 8}) == doctest::Approx(2.0 / 70).epsilon(1e-15));
  CHECK(rank_sum_p_value({1, 1, 1}, {1, 1, 1}) == 1);
  CHECK(rank_sum_p_value({}, {1}) == 1);
}

TEST_CASE("properties of the estimates") {
  CHECK(rc::check("order does not matter, and a common factor leaves the speedup", [] {
    const std::vector<double> a = positive_times(*rc::gen::inRange<std::size_t>(1, 9));
    std::vector<double> b = positive_times(*rc::gen::inRange<std::size_t>(1, 9));
    const Ratio first = *speedup(a, b, 0.95);
    RC_ASSERT(near(first.value, hodges_lehmann_by_definition(a, b)));
    std::vector<double> scaled_a = a;
    std::vector<double> scaled_b(b.rbegin(), b.rend());
    for (double& value : scaled_a) value *= 3;
    for (double& value : scaled_b) value *= 3;
    const Ratio second = *speedup(scaled_a, scaled_b, 0.95);
    RC_ASSERT(near(first.value, second.value));
    RC_ASSERT(first.interval.has_value() == second.interval.has_value());
    if (!first.interval) return;
    RC_ASSERT(near(first.interval->low, second.interval->low));
    RC_ASSERT(near(first.interval->high, second.interval->high));
  }));
  CHECK(rc::check("exchanging the two sides inverts the ratio", [] {
    const std::vector<double> a = positive_times(*rc::gen::inRange<std::size_t>(1, 9));
    const std::vector<double> b = positive_times(*rc::gen::inRange<std::size_t>(1, 9));
    const Ratio forth = *speedup(a, b, 0.95);
    const Ratio back = *speedup(b, a, 0.95);
    RC_ASSERT(near(forth.value, 1 / back.value));
    if (forth.interval) RC_ASSERT(near(forth.interval->low, 1 / back.interval->high));
    RC_ASSERT(near(rank_sum_p_value(a, b), rank_sum_p_value(b, a)));
  }));
  CHECK(rc::check("the interval holds its point", [] {
    const std::size_t count = *rc::gen::inRange<std::size_t>(5, 30);
    const Ratio ratio = *paired_speedup(positive_times(count), positive_times(count), 0.95);
    RC_ASSERT(ratio.interval->low <= ratio.value * (1 + 1e-12));
    RC_ASSERT(ratio.interval->high >= ratio.value * (1 - 1e-12));
    const Summary summary = *summarise(positive_times(count), 0.95);
    RC_ASSERT(summary.interval->low <= summary.median);
    RC_ASSERT(summary.interval->high >= summary.median);
  }));
}
