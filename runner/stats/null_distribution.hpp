#pragma once

#include <optional>

namespace hpcbench {

/// The order statistics that bound an interval, the k-th smallest and the k-th largest, and the probability 1 - 2 P(statistic
/// <= k - 1) that the true value lies between them.
struct CriticalRank {
  long long k = 1;
  double coverage = 0;
};

// The next three functions return the largest k whose coverage is at least `confidence`; if none is, k = 1 if its coverage is
// at least 0.90; else nullopt. While all cases can be counted in 128 bits (n <= 90, C(m + n, m) < 2^97) the counts and the
// comparison are exact; `confidence` is taken as a decimal of nine places, so that 0.95 is 19/20 and not the nearest double.
// Beyond that an Edgeworth expansion with lattice correction is used, whose coverage is accurate to 1e-4.

/// For the median of n sorted values: the statistic is binomial(n, 1/2).
std::optional<CriticalRank> median_critical_rank(int n, double confidence);

/// For the shift between two samples, from their m n differences: the statistic is Mann and Whitney's U.
std::optional<CriticalRank> rank_sum_critical_rank(int m, int n, double confidence);

/// For the centre of one sample, from its n (n + 1) / 2 Walsh averages: the statistic is Wilcoxon's signed rank.
std::optional<CriticalRank> signed_rank_critical_rank(int n, double confidence);

/// Returns P(U <= u) for Mann and Whitney's U of samples of m and n, without ties.
double rank_sum_lower_tail(int m, int n, long long u);

}  // namespace hpcbench
