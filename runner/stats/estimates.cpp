#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/take.hpp"
#include "stats/looks.hpp"
#include "stats/null_distribution.hpp"
#include "stats/stats.hpp"

namespace hpcbench {
namespace {

std::vector<double> sorted_logs(const std::vector<double>& values) {
  std::vector<double> logs(values.size());
  std::transform(values.begin(), values.end(), logs.begin(), [](double value) { return std::log(value); });
  std::sort(logs.begin(), logs.end());
  return logs;
}

/// Maps doubles to integers in the same order, so that bisection of an interval ends after 64 steps.
std::uint64_t ordered_bits(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}
double from_ordered_bits(std::uint64_t ordered) {
  return std::bit_cast<double>(ordered >> 63 ? ordered ^ (std::uint64_t{1} << 63) : ~ordered);
}

/// Returns how many of the differences a - b are <= limit. Both are sorted: as a grows, fewer of the smaller b count.
long long count_up_to(const std::vector<double>& a, const std::vector<double>& b, double limit) {
  long long count = 0;
  std::size_t first = 0;
  for (const double value : a) {
    while (first < b.size() && value - b[first] > limit) ++first;
    count += static_cast<long long>(b.size() - first);
  }
  return count;
}

/// Returns the k-th smallest (from 1) of all differences a - b, without making them: 64 counts of m + n steps.
double kth_difference(const std::vector<double>& a, const std::vector<double>& b, long long k) {
  std::uint64_t low = ordered_bits(a.front() - b.back());
  std::uint64_t high = ordered_bits(a.back() - b.front());
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (count_up_to(a, b, from_ordered_bits(middle)) >= k) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return from_ordered_bits(low);
}

/// Returns point and interval from `count` sorted numbers, `kth(k)` being the k-th smallest, converted from logarithms.
template <class Kth>
Ratio ratio_from_ranks(long long count, const std::optional<CriticalRank>& rank, int looks, const Kth& kth) {
  Ratio ratio;
  const double lower = kth((count + 1) / 2);
  const double upper = count % 2 == 1 ? lower : kth(count / 2 + 1);
  ratio.value = std::exp(lower == upper ? lower : (lower + upper) / 2);
  if (!rank) return ratio;
  ratio.interval = Interval{std::exp(kth(rank->k)), std::exp(kth(count + 1 - rank->k)), rank->coverage, looks};
  ratio.resolved = ratio.interval->low > 1 || ratio.interval->high < 1;
  return ratio;
}

}  // namespace

std::optional<Interval> median_interval(const std::vector<double>& sorted, const Confidence& confidence) {
  const auto rank = median_rank(static_cast<int>(sorted.size()), confidence);
  if (!rank) return std::nullopt;
  const auto k = static_cast<std::size_t>(rank->k);
  return Interval{sorted[k - 1], sorted[sorted.size() - k], rank->coverage, confidence.count()};
}

std::optional<Summary> summarise(std::vector<double> values, const Confidence& confidence) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  Summary summary;
  summary.n = static_cast<int>(values.size());
  summary.median = quantile(values, 0.5);
  summary.q1 = quantile(values, 0.25);
  summary.q3 = quantile(values, 0.75);
  summary.min = values.front();
  summary.max = values.back();
  summary.interval = median_interval(values, confidence);
  return summary;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

std::optional<Ratio> speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                             const Confidence& confidence) {
  if (baseline.empty() || times.empty()) return std::nullopt;
  const std::vector<double> a = sorted_logs(baseline);
  const std::vector<double> b = sorted_logs(times);
  const auto rank = rank_sum_rank(static_cast<int>(a.size()), static_cast<int>(b.size()), confidence);
  const auto count = static_cast<long long>(a.size() * b.size());
  return ratio_from_ranks(count, rank, confidence.count(), [&](long long k) { return kth_difference(a, b, k); });
}

std::optional<Ratio> paired_speedup(const std::vector<double>& baseline, const std::vector<double>& times,
                                    const Confidence& confidence) {
  if (baseline.empty() || baseline.size() != times.size()) return std::nullopt;
  std::vector<double> differences;
  for (std::size_t i = 0; i < times.size(); ++i) differences.push_back(std::log(baseline[i]) - std::log(times[i]));
  std::vector<double> walsh;
  walsh.reserve(times.size() * (times.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) walsh.push_back((differences[i] + differences[j]) / 2);
  }
  std::sort(walsh.begin(), walsh.end());
  const auto rank = signed_rank_rank(static_cast<int>(times.size()), confidence);
  const auto count = static_cast<long long>(walsh.size());
  return ratio_from_ranks(count, rank, confidence.count(), [&](long long k) { return walsh[static_cast<std::size_t>(k - 1)]; });
}

double rank_sum_p_value(const std::vector<double>& baseline, const std::vector<double>& times) {
  if (baseline.empty() || times.empty()) return 1;
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  long long twice_u = 0;  // a tie counts one half
  for (const double value : baseline) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    twice_u += 2 * (first - sorted.begin()) + (last - first);
  }
  const auto pairs = static_cast<long long>(baseline.size() * times.size());
  const long long extreme = (std::min(twice_u, 2 * pairs - twice_u) + 1) / 2;  // rounded up: ties never sharpen the test
  return std::min(1.0, 2 * rank_sum_lower_tail(static_cast<int>(baseline.size()), static_cast<int>(times.size()), extreme));
}

}  // namespace hpcbench
