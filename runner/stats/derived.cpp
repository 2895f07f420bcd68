#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/stats.hpp"

namespace hpcbench {
namespace {

/// Returns ranks from 1; equal values share the mean of their ranks.
std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> ranks;
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back(static_cast<double>((first - sorted.begin()) + (last - sorted.begin()) + 1) / 2);
  }
  return ranks;
}

double middle_of(std::vector<double> values) { return summarise(std::move(values), 0.95)->median; }

}  // namespace

std::vector<bool> holm(const std::vector<double>& p_values, double alpha) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (p_values[order[i]] > alpha / static_cast<double>(order.size() - i)) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

double efficiency(double speedup, int gpus, int baseline_gpus) {
  return speedup / (static_cast<double>(gpus) / baseline_gpus);  // for equal sizes exactly the speedup
}

std::optional<double> karp_flatt(double speedup, int gpus, int baseline_gpus) {
  if (baseline_gpus != 1 || gpus <= 1) return std::nullopt;
  const double p = gpus;
  const double fraction = (1 / speedup - 1 / p) / (1 - 1 / p);
  return std::abs(fraction) < kRatioRounding ? 0 : fraction;
}

double alike_neighbours_p_value(const std::vector<double>& series) {
  constexpr std::size_t kFewest = 10;  // below it the normal approximation is poor
  if (series.size() < kFewest) return 1;
  const std::vector<double> ranks = mean_ranks(series);
  const auto n = static_cast<double>(ranks.size());
  double steps = 0;
  double spread = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) steps += (ranks[i] - ranks[i - 1]) * (ranks[i] - ranks[i - 1]);
    spread += (ranks[i] - (n + 1) / 2) * (ranks[i] - (n + 1) / 2);
  }
  if (spread == 0) return 1;
  const double variance = 4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) * (n - 1));
  return std::erfc((2 - steps / spread) / std::sqrt(2 * variance)) / 2;
}

namespace {

/// Of 3 to 7 positive values one that is over twice the median, or below half of it, where all others are within 20 % of it.
std::vector<std::size_t> lone_value(const std::vector<double>& values) {
  constexpr double kFar = 2, kNear = 1.2;
  const double median = middle_of(values);
  std::vector<std::size_t> far;
  std::size_t near = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0) return {};
    const double ratio = std::max(values[i] / median, median / values[i]);
    if (ratio > kFar) far.push_back(i);
    near += ratio <= kNear ? 1 : 0;
  }
  return far.size() == 1 && near + 1 == values.size() ? far : std::vector<std::size_t>();
}

}  // namespace

std::vector<std::size_t> outliers(const std::vector<double>& values) {
  constexpr std::size_t kFewest = 8;            // among five clean values a quarter of the sets would be flagged
  constexpr double kNormalConsistent = 1.4826;  // 1 / (3/4 quantile of the normal): MAD x this estimates its sigma
  constexpr double kFarthest = 5;
  if (values.size() < 3) return {};
  if (values.size() < kFewest) return lone_value(values);
  const double median = middle_of(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  const double scale = kNormalConsistent * middle_of(deviations);
  std::vector<std::size_t> far;
  if (scale == 0) return far;  // half of them are equal: no spread to compare with
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (deviations[i] > kFarthest * scale) far.push_back(i);
  }
  return far;
}

}  // namespace hpcbench
