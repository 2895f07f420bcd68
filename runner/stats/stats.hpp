#pragma once

#include <optional>
#include <vector>

#include "stats/looks.hpp"

namespace hpcbench {

/// An interval with the probability that it covers the true value (exact for continuous distributions).
struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;
  int looks = 1;  // above 1: `coverage` is that of the intervals of so many looks together
};

/// n independent jobs of one configuration. A field that n values do not determine is nullopt.
struct Summary {
  int n = 0;
  double median = 0, q1 = 0, q3 = 0, min = 0, max = 0;  // quartiles: Hyndman and Fan 1996, type 7
  std::optional<Interval> interval;                     // of the median
};

/// Returns the exact interval of the median from order statistics: [x(k), x(n+1-k)] with the largest k whose coverage 1 - 2
/// P(Bin(n, 1/2) < k) is >= confidence; if none is, k = 1 if its coverage is >= 0.90; else nullopt. David and Nagaraja, Order
/// Statistics, 7.1. `sorted` ascending.
/// Over several looks: looks.hpp.
std::optional<Interval> median_interval(const std::vector<double>& sorted, const Confidence& confidence);

/// Summarises values; nullopt for none. The caller excludes NaN.
std::optional<Summary> summarise(std::vector<double> values, const Confidence& confidence);

/// Returns the median alone; nullopt for no values.
std::optional<double> median_of(std::vector<double> values);

struct Ratio {
  double value = 0;
  std::optional<Interval> interval;
  std::optional<bool> resolved;  // the interval does not contain 1; nullopt without an interval
};

/// Returns the speedup of `times` over `baseline` (both > 0): exp(Hodges-Lehmann of log baseline - log time), exact rank-sum
/// interval. Hodges and Lehmann 1963; Hollander, Wolfe and Chicken, ch. 4. nullopt if either is empty.
std::optional<Ratio> speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                             const Confidence& confidence);

/// Returns the speedup by complete blocks (equal lengths, element i of both from block i): Walsh averages, exact signed-rank.
std::optional<Ratio> paired_speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                                    const Confidence& confidence);

/// Returns by Holm's step-down which of the hypotheses with these p-values are rejected at level alpha, in the order given.
std::vector<bool> holm(const std::vector<double>& p_values, double alpha);

/// Returns the exact two-sided p-value of the rank-sum statistic of log ratios against 1 (no shift).
double rank_sum_p_value(const std::vector<double>& baseline, const std::vector<double>& times);

/// Converting from logarithms rounds: 40 s over 20 s may be 2.0000000000000004. Smaller relative differences count as equal.
inline constexpr double kRatioRounding = 1e-12;

/// Returns speedup / (gpus / baseline gpus).
double efficiency(double speedup, int gpus, int baseline_gpus);

/// Returns the experimentally determined serial fraction (1/S - 1/p)/(1 - 1/p) (Karp and Flatt 1990); nullopt at p = 1 or if
/// the baseline has more than one gpu.
std::optional<double> karp_flatt(double speedup, int gpus, int baseline_gpus);

/// Returns the chance that neighbours in a series without order are as much alike as these, or more: the rank version of von
/// Neumann's ratio (Bartels 1982), normal approximation; ties have their mean rank. 1 for fewer than 10 values, or equal ones.
double alike_neighbours_p_value(const std::vector<double>& series);

/// Returns indices of values beyond 5 scaled MAD of the median for n >= 8, as fewer flag clean sets. For n = 3 to 7 that of one
/// value over twice the median, or below half of it, if all others are within 20 % of it.
std::vector<std::size_t> outliers(const std::vector<double>& values);

}  // namespace hpcbench
