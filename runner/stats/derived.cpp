#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/stats.hpp"

namespace hpcbench {
namespace {

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

double efficiency(double speedup, int gpus, int baseline_gpus) { return speedup * baseline_gpus / gpus; }

std::optional<double> karp_flatt(double speedup, int gpus, int baseline_gpus) {
  if (baseline_gpus != 1 || gpus <= 1) return std::nullopt;
  const double p = gpus;
  return (1 / speedup - 1 / p) / (1 - 1 / p);
}

std::vector<std::size_t> outliers(const std::vector<double>& values) {
  constexpr std::size_t kFewest = 8;            // of five clean values a quarter of the sets would be flagged
  constexpr double kNormalConsistent = 1.4826;  // 1 / (3/4 quantile of the normal): MAD x this estimates its sigma
  constexpr double kFarthest = 5;
  if (values.size() < kFewest) return {};
  const double median = middle_of(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  const double scale = kNormalConsistent * middle_of(deviations);
  std::vector<std::size_t> far;
  if (scale == 0) return far;  // half of them are equal: there is no spread to judge by
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (deviations[i] > kFarthest * scale) far.push_back(i);
  }
  return far;
}

}  // namespace hpcbench
