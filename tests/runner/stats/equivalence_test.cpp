#include "stats/equivalence.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

const std::vector<double> kBefore = {100, 101, 99, 102, 98.5, 100.5};
const std::vector<double> kSlower = {111, 109, 112, 110.5, 108, 113};
const std::vector<double> kAlike = {101, 100.2, 99.4, 102.3, 98.7, 100.9};

}  // namespace

// Values to compare with: scipy.stats.mannwhitneyu(method="exact") of SciPy 1.17.1 on data scaled by the factor.

TEST_CASE("slower by more than a threshold: one-sided exact rank-sum of scaled values") {
  CHECK(larger_p_value(kBefore, kSlower, 1.05) == doctest::Approx(0.0010822510822510823));
  CHECK(larger_p_value(kBefore, kSlower, 1.09) == doctest::Approx(0.12012987012987013));
  CHECK(larger_p_value(kBefore, kSlower, 1.1) == doctest::Approx(0.4090909090909091));
  CHECK(smaller_p_value(kSlower, kBefore, 1 / 1.05) == doctest::Approx(0.0010822510822510823));
  CHECK(larger_p_value({}, kSlower, 1) == 1);
}

TEST_CASE("equivalence: two one-sided tests") {
  CHECK(equivalence_p_value(kBefore, kAlike, 0.05) == doctest::Approx(0.0010822510822510823));
  CHECK(equivalence_p_value(kBefore, kAlike, 0.02) == doctest::Approx(0.032467532467532464));
  CHECK(equivalence_p_value(kBefore, kAlike, 0.01) == doctest::Approx(0.19696969696969696));
  CHECK(equivalence_p_value(kBefore, kSlower, 0.05) == doctest::Approx(1));
}

TEST_CASE("a value on the threshold is a tie, which never sharpens") {
  CHECK(larger_p_value({100}, {105}, 1.05) == 1);  // U = 1/2, rounded up to 1 of 0 and 1
  CHECK(larger_p_value({100}, {105.1}, 1.05) == 0.5);
}

TEST_CASE("Holm's adjusted p-values reject what the step-down rejects") {
  CHECK(holm_adjusted({}).empty());
  const std::vector<double> adjusted = holm_adjusted({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};  // by hand: 3 x 0.01, 1 x 0.04 raised to 2 x 0.03, 4 x 0.005
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(adjusted[i] == doctest::Approx(expected[i]));
  CHECK(rc::check("the same hypotheses at any level", [] {
    const auto whole = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
    std::vector<double> p_values;
    for (const int value : whole) p_values.push_back(value / 1000.0 + 0.0003);
    const auto rejected = holm(p_values, 0.05);
    const auto values = holm_adjusted(p_values);
    for (std::size_t i = 0; i < values.size(); ++i) RC_ASSERT((values[i] <= 0.05) == rejected[i]);
  }));
}

TEST_CASE("one row: equivalent at level 5 % is the 90 % interval inside the margin") {
  CHECK(rc::check("the same verdict", [] {
    const auto values = [] {
      std::vector<double> list;
      for (const int value : *rc::gen::container<std::vector<int>>(6, rc::gen::inRange(1, 100000)))
        list.push_back(1 + value * 1e-6 + static_cast<double>(list.size()) * 1e-9);
      return list;
    };
    const std::vector<double> a = values();
    const std::vector<double> b = values();
    const double margin = *rc::gen::inRange(1, 100) / 1000.0;
    const auto interval = speedup(b, a, 0.90)->interval;
    const bool inside = interval->low > 1 / (1 + margin) && interval->high < 1 + margin;
    RC_ASSERT((equivalence_p_value(a, b, margin) <= 0.05) == inside);
  }));
}

TEST_CASE("the fewest runs that can reject: C(2n, n) against hypotheses / level") {
  CHECK(fewest_runs_to_reject(1, 0.025) == 4);   // 1/70
  CHECK(fewest_runs_to_reject(1, 0.05) == 3);    // 1/20: the level itself
  CHECK(fewest_runs_to_reject(2, 0.025) == 5);   // 2/252
  CHECK(fewest_runs_to_reject(20, 0.025) == 6);  // 20/924
  CHECK(fewest_runs_to_reject(1, 0.5) == 1);
}
