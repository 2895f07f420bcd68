#include "stats/fits.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/stats.hpp"

namespace hpcbench {
namespace {

using ScalingLaw = double (*)(double serial_fraction, int gpus);

constexpr std::size_t kFewestPoints = 3;

/// Returns how many points each number of gpus has; empty if no law can be fitted.
std::map<int, int> count_points(const std::vector<ScalingPoint>& points) {
  std::map<int, int> counts;
  for (const ScalingPoint& point : points) {
    if (point.gpus < 1 || !(point.speedup > 0) || !std::isfinite(point.speedup)) return {};
    ++counts[point.gpus];
  }
  return counts.size() >= kFewestPoints && counts.contains(1) ? counts : std::map<int, int>();
}

struct WeightedPoint {
  ScalingPoint point;
  double weight = 1;
};

/// Weighs the points so that each number of gpus has weight 1 in all.
std::vector<WeightedPoint> weigh(const std::vector<ScalingPoint>& points, const std::map<int, int>& counts) {
  std::vector<WeightedPoint> weighted;
  for (const ScalingPoint& point : points) weighted.push_back({point, 1.0 / counts.at(point.gpus)});
  return weighted;
}

double sum_of_squares(const std::vector<WeightedPoint>& points, ScalingLaw law, double s) {
  double sum = 0;
  for (const auto& [point, weight] : points) {
    const double residual = point.speedup - law(s, point.gpus);
    sum += weight * residual * residual;
  }
  return sum;
}

ScalingFit fit_with(const std::vector<WeightedPoint>& points, std::size_t distinct, ScalingLaw law, double s) {
  ScalingFit fit;
  if (std::abs(s) < kRatioRounding) s = 0;
  fit.serial_fraction = s;
  for (const auto& [point, weight] : points) fit.fitted.push_back(law(s, point.gpus));
  fit.degrees_of_freedom = static_cast<int>(distinct) - 2;
  fit.residual_rms = std::sqrt(sum_of_squares(points, law, s) / fit.degrees_of_freedom);
  if (fit.residual_rms < kRatioRounding * points.back().point.gpus) fit.residual_rms = 0;
  return fit;
}

/// Returns the minimum of a function with one minimum between low and high, by golden sections.
template <class Function>
double lowest_between(double low, double high, const Function& function) {
  const double part = (std::sqrt(5.0) - 1) / 2;
  constexpr int kSteps = 100;  // each keeps 0.618 of the rest: beyond the precision of a double
  for (int step = 0; step < kSteps; ++step) {
    const double left = high - part * (high - low);
    const double right = low + part * (high - low);
    if (function(left) <= function(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

/// Returns the derivative of half the sum of squares by s, whose zero is exact to the last digit, unlike a minimum.
double amdahl_slope(const std::vector<WeightedPoint>& points, double s) {
  double slope = 0;
  for (const auto& [point, weight] : points) {
    const double p = point.gpus;
    const double fitted = amdahl_speedup(s, point.gpus);
    slope += weight * (point.speedup - fitted) * fitted * fitted * (1 - 1 / p);
  }
  return slope;
}

}  // namespace

double amdahl_speedup(double serial_fraction, int gpus) {
  return 1 / (serial_fraction + (1 - serial_fraction) / static_cast<double>(gpus));
}

double gustafson_speedup(double serial_fraction, int gpus) { return static_cast<double>(gpus) - serial_fraction * (gpus - 1); }

std::optional<ScalingFit> fit_amdahl(const std::vector<ScalingPoint>& given) {
  const std::map<int, int> counts = count_points(given);
  if (counts.empty()) return std::nullopt;
  const std::vector<WeightedPoint> points = weigh(given, counts);
  // Each point alone has its own s (that of Karp and Flatt). Below the least of them every residual is negative, above the
  // largest every one is positive: the best s lies between them.
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (const auto& [point, weight] : points) {
    if (point.gpus == 1) continue;
    const double p = point.gpus;
    const double own = (1 / point.speedup - 1 / p) / (1 - 1 / p);
    low = std::min(low, own);
    high = std::max(high, own);
  }
  constexpr int kCells = 256;  // the sum may have several minima: the best cell first
  const double width = (high - low) / kCells;
  const auto squares = [&](double s) { return sum_of_squares(points, amdahl_speedup, s); };
  int best = 0;
  for (int cell = 1; cell <= kCells; ++cell) {
    if (squares(low + cell * width) < squares(low + best * width)) best = cell;
  }
  double from = std::max(low, low + (best - 1) * width);
  double to = std::min(high, low + (best + 1) * width);
  if (amdahl_slope(points, from) >= 0 || amdahl_slope(points, to) <= 0) {
    return fit_with(points, counts.size(), amdahl_speedup, lowest_between(from, to, squares));
  }
  for (int step = 0; step < 200 && from < to; ++step) {
    const double middle = from + (to - from) / 2;
    (amdahl_slope(points, middle) < 0 ? from : to) = middle;
  }
  return fit_with(points, counts.size(), amdahl_speedup, from + (to - from) / 2);
}

std::optional<ScalingFit> fit_gustafson(const std::vector<ScalingPoint>& given) {
  const std::map<int, int> counts = count_points(given);
  if (counts.empty()) return std::nullopt;
  const std::vector<WeightedPoint> points = weigh(given, counts);
  double product = 0;
  double square = 0;
  for (const auto& [point, weight] : points) {
    const double others = point.gpus - 1.0;
    product += weight * (point.gpus - point.speedup) * others;
    square += weight * others * others;
  }
  return fit_with(points, counts.size(), gustafson_speedup, product / square);
}

}  // namespace hpcbench
