#include "stats/null_distribution.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace hpcbench;

namespace {

struct KnownRank {
  int n;
  long long k;
  double coverage;
};

void check_rank(const std::optional<CriticalRank>& got, long long k, double coverage, double tolerance) {
  REQUIRE(got);
  CHECK(got->k == k);
  CHECK(got->coverage == doctest::Approx(coverage).epsilon(tolerance));
}

}  // namespace

TEST_CASE("median: ranks and coverages of the published table") {
  const std::vector<KnownRank> table = {
      {6, 1, .96875}, {7, 1, .984375}, {8, 1, .9921875}, {9, 2, .9609375}, {10, 2, .978515625}};
  for (const KnownRank& row : table) {
    CAPTURE(row.n);
    const auto got = median_critical_rank(row.n, 0.95);
    REQUIRE(got);
    CHECK(got->k == row.k);
    CHECK(got->coverage == row.coverage);  // multiples of 2^-n: no rounding at all
  }
}

TEST_CASE("median: below six runs the widest interval, if it covers 90 %") {
  check_rank(median_critical_rank(5, 0.95), 1, .9375, 1e-15);
  for (int n = 0; n <= 4; ++n) CHECK_FALSE(median_critical_rank(n, 0.95));
}

TEST_CASE("signed rank: ranks and coverages of the published table") {
  const std::vector<KnownRank> table = {
      {6, 1, .96875}, {7, 3, .953125}, {8, 4, .9609375}, {9, 6, .9609375}, {10, 9, .951171875}};
  for (const KnownRank& row : table) {
    CAPTURE(row.n);
    const auto got = signed_rank_critical_rank(row.n, 0.95);
    REQUIRE(got);
    CHECK(got->k == row.k);
    CHECK(got->coverage == row.coverage);
  }
  check_rank(signed_rank_critical_rank(5, 0.95), 1, .9375, 1e-15);
  CHECK_FALSE(signed_rank_critical_rank(4, 0.95));
  CHECK_FALSE(signed_rank_critical_rank(3, 0.95));
}

TEST_CASE("rank sum: ranks and coverages of the published table") {
  struct Row {
    int m, n;
    long long k;
    double coverage;
  };
  const std::vector<Row> table = {{4, 4, 1, .9714},  {5, 5, 3, .9683},    {6, 6, 6, .9589}, {7, 7, 9, .9621},
                                  {8, 8, 14, .9501}, {10, 10, 24, .9567}, {3, 5, 1, .9643}, {3, 6, 2, .9524},
                                  {4, 5, 2, .9683},  {5, 7, 6, .9520},    {6, 8, 9, .9574}};
  for (const Row& row : table) {
    CAPTURE(row.m);
    CAPTURE(row.n);
    check_rank(rank_sum_critical_rank(row.m, row.n, 0.95), row.k, row.coverage, 6e-5);
    check_rank(rank_sum_critical_rank(row.n, row.m, 0.95), row.k, row.coverage, 6e-5);
  }
  SUBCASE("three against three reach exactly 18 of 20") { check_rank(rank_sum_critical_rank(3, 3, 0.95), 1, .9, 1e-15); }
  SUBCASE("one baseline run needs 39 others for 95 %") {
    CHECK(rank_sum_critical_rank(1, 38, 0.95)->coverage < 0.95);
    CHECK(rank_sum_critical_rank(1, 39, 0.95)->coverage == 0.95);
  }
}

TEST_CASE("a confidence is compared as a decimal, not as the nearest double") {
  // 38/40 is 0.95 and must be enough for 0.95; 0.9500001 must not be met by it.
  CHECK(rank_sum_critical_rank(1, 39, 0.95)->k == 1);
  CHECK(rank_sum_critical_rank(1, 39, 0.9500001)->coverage < 0.9500001);
  CHECK(median_critical_rank(5, 0.9375)->coverage == 0.9375);
  CHECK(median_critical_rank(6, 0.5)->k == 2);  // 1 - 2 x 7/64 = 0.78125, and 1 - 2 x 22/64 is below
}

TEST_CASE("large samples: exact as far as 128 bits go, then within 1e-4 of what exact integers of any size give") {
  check_rank(rank_sum_critical_rank(50, 50, 0.95), 966, 0.9504522764011537, 1e-12);
  check_rank(rank_sum_critical_rank(10, 200, 0.95), 634, 0.9503518280334579, 1e-12);
  check_rank(rank_sum_critical_rank(60, 80, 0.95), 1935, 0.950232863796773, 1e-5);
  check_rank(rank_sum_critical_rank(100, 100, 0.95), 4198, 0.9502465595809405, 1e-5);
  check_rank(median_critical_rank(90, 0.95), 36, 0.955402475372084, 1e-12);
  check_rank(median_critical_rank(100, 0.95), 40, 0.9647997997822951, 1e-4);
  check_rank(signed_rank_critical_rank(90, 0.95), 1561, 0.9502758618938485, 1e-12);
  check_rank(signed_rank_critical_rank(100, 0.95), 1956, 0.9500762403957075, 1e-5);
}

TEST_CASE("lower tail of the rank sum") {
  CHECK(rank_sum_lower_tail(3, 3, -1) == 0);
  CHECK(rank_sum_lower_tail(3, 3, 0) == 1.0 / 20);
  CHECK(rank_sum_lower_tail(3, 3, 2) == 4.0 / 20);  // U = 0, 1, 2 in 1, 1, 2 ways
  CHECK(rank_sum_lower_tail(3, 3, 4) == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(rank_sum_lower_tail(3, 3, 8) == doctest::Approx(19.0 / 20).epsilon(1e-15));
  CHECK(rank_sum_lower_tail(3, 3, 9) == 1);
  CHECK(rank_sum_lower_tail(60, 80, 1920) == doctest::Approx(0.0216139895551212).epsilon(1e-4));
}
