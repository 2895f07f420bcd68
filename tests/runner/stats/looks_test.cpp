// Intervals over several looks, against the published levels and the ranks that an independent program computed; and how often
// they hold, in simulated studies. HPCBENCH_LONG=1: 10,000 studies of each kind, as docs/statistics.md says.
#include "stats/looks.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "noise.hpp"
#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

const std::vector<int> kLooks = {8, 11, 15, 20, 27, 36, 40};
const Confidence kJoint(0.95, kLooks);

/// Logarithms of times around a median of 0.
struct LookKind {
  const char* name;
  double (*draw)(Noise& noise);
};
double draw_normal(Noise& noise) { return 0.05 * noise.normal(); }
double draw_skew(Noise& noise) { return 0.05 * (-std::log(noise.uniform()) - M_LN2); }
double draw_two_speeds(Noise& noise) {  // of two nodes
  const double node = noise.uniform() < 0.5 ? -0.05 : 0.05;
  return node + 0.01 * noise.normal();
}
double draw_ties(Noise& noise) { return std::round(0.05 * noise.normal() / 0.01) * 0.01; }
constexpr std::array<LookKind, 4> kLookKinds = {
    {{"normal", draw_normal}, {"skewed", draw_skew}, {"bimodal", draw_two_speeds}, {"tied", draw_ties}}};

struct Estimate {
  double value = 0;
  Interval interval;
};
using Estimator = std::optional<Estimate> (*)(const std::vector<double>& a, const std::vector<double>& b, const Confidence& c);

std::optional<Estimate> as_estimate(const std::optional<Ratio>& ratio) {
  return ratio && ratio->interval ? std::optional(Estimate{ratio->value, *ratio->interval}) : std::nullopt;
}
std::optional<Estimate> estimate_median(const std::vector<double>&, const std::vector<double>& b, const Confidence& c) {
  const auto summary = summarise(b, c);
  return summary->interval ? std::optional(Estimate{summary->median, *summary->interval}) : std::nullopt;
}
std::optional<Estimate> estimate_unpaired(const std::vector<double>& a, const std::vector<double>& b, const Confidence& c) {
  return as_estimate(speedup(a, b, c));
}
std::optional<Estimate> estimate_paired(const std::vector<double>& a, const std::vector<double>& b, const Confidence& c) {
  return as_estimate(paired_speedup(a, b, c));
}

/// The shares of studies whose interval holds the truth, which is 1.
struct LookCoverage {
  double when_narrow = 0;  // at the first look with a half width of at most 3 %, else at the last one
  double at_all_looks = 0;
};

LookCoverage simulate(const LookKind& kind, Estimator estimator, const Confidence& confidence, int studies) {
  Noise noise(20260101);
  int narrow = 0;
  int all = 0;
  for (int study = 0; study < studies; ++study) {
    std::vector<double> a, b;
    bool holds_at_all = true;
    bool ended = false;
    for (const int look : kLooks) {
      while (static_cast<int>(b.size()) < look) {
        a.push_back(std::exp(kind.draw(noise)));
        b.push_back(std::exp(kind.draw(noise)));
      }
      const auto estimate = estimator(a, b, confidence);
      if (!estimate) continue;
      constexpr double kRounding = 1e-12;
      const bool holds = estimate->interval.low <= 1 + kRounding && estimate->interval.high >= 1 - kRounding;
      holds_at_all = holds_at_all && holds;
      const double half_width = (estimate->interval.high - estimate->interval.low) / 2 / estimate->value;
      if (ended || (half_width > 0.03 && look != kLooks.back())) continue;
      ended = true;
      narrow += holds ? 1 : 0;
    }
    all += holds_at_all ? 1 : 0;
  }
  return {static_cast<double>(narrow) / studies, static_cast<double>(all) / studies};
}

int ranks_of(const std::optional<CriticalRank>& rank) { return rank ? static_cast<int>(rank->k) : 0; }

}  // namespace

TEST_CASE("looks: the level of each look makes 5 % over all of them") {
  const LookLevel level = look_level(kLooks, 0.95);
  CHECK(level.z == doctest::Approx(2.470).epsilon(2e-4));
  CHECK(level.level == doctest::Approx(0.01350).epsilon(2e-4));
  // Pocock 1977, table 1: equal steps, 2 to 5 looks and 10.
  CHECK(look_level({10, 20}, 0.95).z == doctest::Approx(2.178).epsilon(3e-4));
  CHECK(look_level({10, 20, 30}, 0.95).z == doctest::Approx(2.289).epsilon(3e-4));
  CHECK(look_level({10, 20, 30, 40}, 0.95).z == doctest::Approx(2.361).epsilon(3e-4));
  CHECK(look_level({10, 20, 30, 40, 50}, 0.95).z == doctest::Approx(2.413).epsilon(3e-4));
  CHECK(look_level({3, 6, 9, 12, 15, 18, 21, 24, 27, 30}, 0.95).z == doctest::Approx(2.555).epsilon(3e-4));
  CHECK(look_level({10, 20, 30, 40, 50}, 0.99).z == doctest::Approx(2.986).epsilon(3e-4));
  CHECK(look_level({12}, 0.95).z == doctest::Approx(1.959964).epsilon(1e-6));
}

TEST_CASE("looks: exact ranks of the usual ladder") {
  const std::vector<int> signed_rank = {1, 6, 18, 40, 88, 178, 228};
  const std::vector<int> rank_sum = {9, 24, 54, 110, 223, 430, 545};
  CHECK(median_look_ranks(kLooks, 0.95) == std::vector<int>{1, 2, 3, 5, 8, 11, 13});
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    CAPTURE(kLooks[i]);
    CHECK(ranks_of(signed_rank_rank(kLooks[i], kJoint)) == signed_rank[i]);
    CHECK(ranks_of(rank_sum_rank(kLooks[i], kLooks[i], kJoint)) == rank_sum[i]);
    CHECK(signed_rank_rank(kLooks[i], kJoint)->coverage == 0.95);
  }
}

TEST_CASE("looks: no wider promise where the level is not reached") {
  CHECK_FALSE(median_rank(7, kJoint));  // a run failed
  CHECK_FALSE(signed_rank_rank(7, kJoint));
  CHECK(median_critical_rank(7, 0.95));
  CHECK(ranks_of(median_rank(10, kJoint)) == 1);
  CHECK(ranks_of(median_rank(39, kJoint)) == 12);
  CHECK(ranks_of(rank_sum_rank(7, 8, kJoint)) > 0);
  const std::vector<int> early = median_look_ranks({4, 8, 12}, 0.95);
  CHECK(early[0] == 0);
  CHECK_FALSE(median_rank(4, Confidence(0.95, {4, 8, 12})));
}

TEST_CASE("looks: one look is what it was") {
  for (const int n : {6, 9, 20}) {
    CHECK(median_rank(n, 0.95)->k == median_critical_rank(n, 0.95)->k);
    CHECK(signed_rank_rank(n, 0.95)->coverage == signed_rank_critical_rank(n, 0.95)->coverage);
  }
  CHECK(p_value_over_looks(0.02, 7) == doctest::Approx(0.14));
  CHECK(p_value_over_looks(0.2, 7) == 1);
}

TEST_CASE("looks: intervals hold whatever ends a study, and those of 95 % at each look do not") {
  const bool is_long = std::getenv("HPCBENCH_LONG") != nullptr;
  const int studies = is_long ? 10'000 : 1'000;
  const double error = 3 * std::sqrt(0.05 * 0.95 / studies);
  const std::array<std::pair<const char*, Estimator>, 3> estimators = {
      {{"median", estimate_median}, {"speedup", estimate_unpaired}, {"paired", estimate_paired}}};
  for (const LookKind& kind : kLookKinds) {
    for (const auto& [name, estimator] : estimators) {
      const LookCoverage sound = simulate(kind, estimator, kJoint, studies);
      const LookCoverage naive = simulate(kind, estimator, 0.95, studies);
      const std::string seen =
          fmt::format("{} {}: when narrow {:.4f}, at all looks {:.4f}; 95 % at each look: {:.4f}, {:.4f}", kind.name, name,
                      sound.when_narrow, sound.at_all_looks, naive.when_narrow, naive.at_all_looks);
      CAPTURE(seen);
      if (std::getenv("HPCBENCH_SHOW") != nullptr) MESSAGE(seen);
      CHECK(sound.when_narrow >= 0.95 - error);
      CHECK(sound.at_all_looks >= 0.95 - error);
      // Ties widen the naive interval of a median so far that it holds, too.
      const bool of_ties = std::string(kind.name) == "tied" && std::string(name) == "median";
      if (!of_ties) CHECK(naive.at_all_looks < 0.95 - error);
    }
  }
}

namespace {

constexpr int kRows = 10;
constexpr double kWanted = 0.03;

/// Whether the interval of the speedup of these runs over a baseline without noise is narrow enough.
bool is_narrow(const std::vector<double>& times, const Confidence& confidence) {
  const auto ratio = paired_speedup(std::vector<double>(times.size(), 1), times, confidence);
  return ratio->interval && (ratio->interval->high - ratio->interval->low) / 2 / ratio->value <= kWanted;
}

/// Runs of a row with these logarithms until it is narrow, or at the last look.
int runs_until_narrow(const std::vector<double>& times) {
  for (const int look : kLooks) {
    if (is_narrow({times.begin(), times.begin() + look}, kJoint)) return look;
  }
  return kLooks.back();
}

/// Times of ten rows whose spreads go from one to `ratio`.
std::vector<std::vector<double>> rows_of_spreads(Noise& noise, double ratio, int runs) {
  std::vector<std::vector<double>> rows(kRows);
  for (int row = 0; row < kRows; ++row) {
    const double spread = 0.05 / ratio * std::pow(ratio, row / (kRows - 1.0));
    for (int run = 0; run < runs; ++run) rows[static_cast<std::size_t>(row)].push_back(std::exp(spread * noise.normal()));
  }
  return rows;
}

/// Mean runs with looks, as a share of the one number at which every row is narrow in 90 % of studies.
double share_of_runs(double ratio, int studies) {
  constexpr int kMostRuns = 60;
  Noise noise(20260102);
  long long with_looks = 0;
  long long undecided = 0;
  std::vector<int> all_narrow(kMostRuns + 1, 0);  // studies, by number of runs
  for (int study = 0; study < studies; ++study) {
    const auto rows = rows_of_spreads(noise, ratio, kMostRuns);
    for (const auto& row : rows) {
      with_looks += runs_until_narrow(row);
      undecided += is_narrow({row.begin(), row.begin() + kLooks.back()}, kJoint) ? 0 : 1;
    }
    for (int n = 6; n <= kMostRuns; ++n) {
      const auto narrow = [&](const auto& row) { return is_narrow({row.begin(), row.begin() + n}, 0.95); };
      all_narrow[static_cast<std::size_t>(n)] += std::all_of(rows.begin(), rows.end(), narrow) ? 1 : 0;
    }
  }
  const auto enough = std::find_if(all_narrow.begin(), all_narrow.end(), [&](int count) { return 10 * count >= 9 * studies; });
  REQUIRE(enough != all_narrow.end());
  CHECK(undecided * 1000 <= static_cast<long long>(studies) * kRows);  // the two reach the same
  return static_cast<double>(with_looks) / studies / static_cast<double>((enough - all_narrow.begin()) * kRows);
}

}  // namespace

TEST_CASE("looks: they save runs where spreads differ") {
  const bool is_long = std::getenv("HPCBENCH_LONG") != nullptr;
  const int studies = is_long ? 2'000 : 40;
  const double fivefold = share_of_runs(5, studies);
  const double threefold = share_of_runs(3, studies);
  const double equal = share_of_runs(1, studies);
  if (std::getenv("HPCBENCH_SHOW") != nullptr) MESSAGE(fmt::format("{:.3f} {:.3f} {:.3f}", fivefold, threefold, equal));
  CHECK(fivefold <= 0.75);
  CHECK(threefold < equal);
}

TEST_CASE("looks: alike neighbours, by hand") {
  // Ranks 1 to 10: steps 9, spread 82.5, variance 32 * 471 / 44550.
  const double z = (2 - 9 / 82.5) / std::sqrt(32 * 471 / 44550.0);
  CHECK(alike_neighbours_p_value({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) == doctest::Approx(std::erfc(z / std::sqrt(2.0)) / 2));
  CHECK(alike_neighbours_p_value({1, 10, 2, 9, 3, 8, 4, 7, 5, 6}) > 0.9);
  CHECK(alike_neighbours_p_value({1, 2, 3}) == 1);
  CHECK(alike_neighbours_p_value(std::vector<double>(12, 3)) == 1);
}
