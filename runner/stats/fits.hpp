#pragma once

#include <optional>
#include <vector>

namespace hpcbench {

/// The speedup of one strategy on `gpus` over itself on one gpu.
struct ScalingPoint {
  int gpus = 1;
  double speedup = 1;
};

/// A law with one parameter, the serial fraction s, fitted to all points but the point of one gpu, which is 1 by definition.
struct ScalingFit {
  double serial_fraction = 0;  // below 0 if the points are superlinear; printed unchanged
  std::vector<double> fitted;  // for each point, in the order given
  double residual_rms = 0;     // sqrt(weighted sum of (speedup - fitted)^2 / degrees_of_freedom)
  int degrees_of_freedom = 0;  // distinct numbers of gpus, minus the one that defines the speedup, minus the fitted parameter
};

/// Returns Amdahl's speedup (1967): S(p) = 1 / (s + (1 - s) / p), with the whole work fixed.
double amdahl_speedup(double serial_fraction, int gpus);
/// Returns Gustafson's speedup (1988): S(p) = p - s (p - 1), with the work of a gpu fixed.
double gustafson_speedup(double serial_fraction, int gpus);

/// Fits by least squares of the speedups; points of the same number of gpus share the weight of one, so that repeats of two
/// numbers do not look certain. nullopt with fewer than three distinct numbers, without the number one, or with a speedup that
/// is not positive.
std::optional<ScalingFit> fit_amdahl(const std::vector<ScalingPoint>& points);
std::optional<ScalingFit> fit_gustafson(const std::vector<ScalingPoint>& points);

}  // namespace hpcbench
