#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "stats/null_distribution.hpp"

namespace hpcbench {

/// The confidence of an interval: for one look, or jointly for several looks, at growing numbers of runs that are fixed
/// beforehand. Jointly, all intervals of the looks together cover the true value with the probability `level` (repeated
/// confidence intervals: Jennison and Turnbull 1989), so that any reason to stop at a look is allowed.
struct Confidence {
  double level = 0.95;
  std::vector<int> looks;  // numbers of runs, ascending; empty: one look

  // Converts a level to a confidence: most callers have one look.
  Confidence(double the_level, std::vector<int> the_looks = {})  // NOLINT(google-explicit-constructor)
      : level(the_level), looks(std::move(the_looks)) {}

  int count() const { return looks.empty() ? 1 : static_cast<int>(looks.size()); }
};

/// The level of each look.
struct LookLevel {
  double z = 0;      // P(|B(n)| / sqrt(n) > z at any look n) = 1 - confidence, B being Brownian motion
  double level = 0;  // P(|N(0, 1)| > z): the error of one look
};

/// Returns Pocock's level (1977), by the recursion of Armitage, McPherson and Rowe 1969 on a grid; accurate to 1e-6. `looks`
/// ascending, at least one.
LookLevel look_level(const std::vector<int>& looks, double confidence);

/// Returns the rank of the median's interval for each look, 0 where it has none: the largest rank for which the chance that the
/// interval of this or an earlier look misses is at most (1 - confidence) ln(1 + (e - 1) n / last n) (Lan and DeMets 1983), by
/// an exact recursion over the number of values below the median.
std::vector<int> median_look_ranks(const std::vector<int>& looks, double confidence);

// Returns the ranks that bound an interval. For one look: those of null_distribution.hpp. Over several looks: the largest whose
// error is at most that of a look; nullopt otherwise. `coverage` is then the joint level. If failures leave a number of values
// that is no look's, the level is that of the next look.

std::optional<CriticalRank> median_rank(int n, const Confidence& confidence);
std::optional<CriticalRank> rank_sum_rank(int m, int n, const Confidence& confidence);
std::optional<CriticalRank> signed_rank_rank(int n, const Confidence& confidence);

/// Returns a p-value that holds for this many looks (Bonferroni): min(1, looks x p).
double p_value_over_looks(double p_value, long long looks);

}  // namespace hpcbench
