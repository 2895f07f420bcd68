#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "stats/null_distribution.hpp"

namespace hpcbench {

/// How sure an interval is to be: once, or over all of several looks at growing numbers of runs, which were fixed beforehand.
/// Then all intervals of the looks together hold what they are about with the probability `level` (repeated confidence
/// intervals: Jennison and Turnbull 1989), so that any reason to stop at a look is allowed.
struct Confidence {
  double level = 0.95;
  std::vector<int> looks;  // numbers of runs, ascending; empty: one look

  // A level alone is a confidence: most callers look once.
  Confidence(double the_level, std::vector<int> the_looks = {})  // NOLINT(google-explicit-constructor)
      : level(the_level), looks(std::move(the_looks)) {}

  int count() const { return looks.empty() ? 1 : static_cast<int>(looks.size()); }
};

/// One level for each look.
struct LookLevel {
  double z = 0;      // P(|B(n)| / sqrt(n) > z at any look n) = 1 - confidence, B being Brownian motion
  double level = 0;  // P(|N(0, 1)| > z): the error of one look
};

/// Pocock 1977, by the recursion of Armitage, McPherson and Rowe 1969 on a grid; right to 1e-6. `looks` ascending, one at
/// least.
LookLevel look_level(const std::vector<int>& looks, double confidence);

/// For each look the rank of the median's interval, 0 where it has none: the largest with which the chance that the interval of
/// this look or of one before it misses is at most (1 - confidence) ln(1 + (e - 1) n / last n) (Lan and DeMets 1983), by an
/// exact recursion over the number of values below the median.
std::vector<int> median_look_ranks(const std::vector<int>& looks, double confidence);

// The ranks that bound an interval. Of one look: those of null_distribution.hpp. Over several looks: the largest whose error is
// at most that of a look; none otherwise. `coverage` is then the joint level. Where failures leave other numbers of values than
// those of the looks, the level is that of the next look.

std::optional<CriticalRank> median_rank(int n, const Confidence& confidence);
std::optional<CriticalRank> rank_sum_rank(int m, int n, const Confidence& confidence);
std::optional<CriticalRank> signed_rank_rank(int n, const Confidence& confidence);

/// A p-value that may be looked at so often (Bonferroni): min(1, looks x p).
double p_value_over_looks(double p_value, long long looks);

}  // namespace hpcbench
