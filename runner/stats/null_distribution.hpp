#pragma once

#include <optional>

namespace hpcbench {

/// Which order statistics bound an interval, the k-th smallest and the k-th largest, and the probability
/// 1 - 2 P(statistic <= k - 1) that they hold the true value between them.
struct CriticalRank {
  long long k = 1;
  double coverage = 0;
};

// Each of the three gives the largest k whose coverage is at least `confidence`; if none is, k = 1 where its coverage is at
// least 0.90; else nothing. As long as all cases can be counted in 128 bits (n <= 90, C(m + n, m) < 2^97) the counts and the
// comparison are exact; `confidence` is taken as a decimal of nine places, so that 0.95 is 19/20 and not the nearest double.
// Beyond that an Edgeworth expansion with lattice correction takes over, whose coverage is right to 1e-4.

/// Of n sorted values, for their median: the statistic is binomial(n, 1/2).
std::optional<CriticalRank> median_critical_rank(int n, double confidence);

/// Of the m n differences of two samples, for their shift: the statistic is Mann and Whitney's U.
std::optional<CriticalRank> rank_sum_critical_rank(int m, int n, double confidence);

/// Of the n (n + 1) / 2 Walsh averages of one sample, for its centre: the statistic is Wilcoxon's signed rank.
std::optional<CriticalRank> signed_rank_critical_rank(int n, double confidence);

/// P(U <= u) for Mann and Whitney's U of samples of m and n, without ties.
double rank_sum_lower_tail(int m, int n, long long u);

}  // namespace hpcbench
