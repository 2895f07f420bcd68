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

/// n independent jobs of one configuration. n values do not give the absent fields.
struct Summary {
  int n = 0;
  double median = 0, q1 = 0, q3 = 0, min = 0, max = 0;  // quartiles: Hyndman and Fan 1996, type 7
  std::optional<Interval> interval;                     // of the median
};

/// The exact interval of the median from order statistics: [x(k), x(n+1-k)] with the largest k whose coverage
/// 1 - 2 P(Bin(n, 1/2) < k) is >= confidence; if none is, k = 1 where its coverage is >= 0.90; else absent.
/// David and Nagaraja, Order Statistics, 7.1. `sorted` ascending.
/// Over several looks: looks.hpp.
std::optional<Interval> median_interval(const std::vector<double>& sorted, const Confidence& confidence);

/// Absent for no values. NaN is a caller's error.
std::optional<Summary> summarise(std::vector<double> values, const Confidence& confidence);

/// The median alone; absent for no values.
std::optional<double> median_of(std::vector<double> values);

struct Ratio {
  double value = 0;
  std::optional<Interval> interval;
  std::optional<bool> resolved;  // the interval does not hold 1; absent without interval
};

/// Speedup of `times` over `baseline` (both > 0): exp(Hodges-Lehmann of log baseline - log time), exact rank-sum interval.
/// Hodges and Lehmann 1963; Hollander, Wolfe and Chicken, ch. 4. Absent if either is empty.
std::optional<Ratio> speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                             const Confidence& confidence);

/// The same by complete blocks (equal lengths, element i of both from block i): Walsh averages, exact signed-rank.
std::optional<Ratio> paired_speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                                    const Confidence& confidence);

/// Holm's step-down: which of the hypotheses with these p-values are rejected at level alpha, in the order given.
std::vector<bool> holm(const std::vector<double>& p_values, double alpha);

/// Exact two-sided p-value of the rank-sum statistic of log ratios against 1 (no shift).
double rank_sum_p_value(const std::vector<double>& baseline, const std::vector<double>& times);

/// A ratio comes back from logarithms: 40 s over 20 s may be 2.0000000000000004. What differs by less, as a share, is equal.
inline constexpr double kRatioRounding = 1e-12;

/// speedup / (gpus / baseline gpus).
double efficiency(double speedup, int gpus, int baseline_gpus);

/// Experimentally determined serial fraction (1/S - 1/p)/(1 - 1/p) (Karp and Flatt 1990); absent at p = 1 or where the baseline
/// has more than one gpu.
std::optional<double> karp_flatt(double speedup, int gpus, int baseline_gpus);

/// How likely neighbours in a series without any order are as much alike as these, or more: the rank version of von Neumann's
/// ratio (Bartels 1982) with its normal approximation; ties have their mean rank. 1 for fewer than 10 values, or equal ones.
double alike_neighbours_p_value(const std::vector<double>& series);

/// Indices of values beyond 5 scaled MAD of the median for n >= 8, as fewer flag clean sets. For n = 3 to 7 that of one value
/// over twice the median, or below half of it, where all others are within 20 % of it.
std::vector<std::size_t> outliers(const std::vector<double>& values);

}  // namespace hpcbench
