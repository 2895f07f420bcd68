#pragma once

#include <optional>
#include <vector>

namespace hpcbench {

/// The speedup of one strategy on `gpus` over itself on one gpu.
struct ScalingPoint {
  int gpus = 1;
  double speedup = 1;
};

/// A law of one number, the serial fraction s, fitted to all points but that of one gpu, which is 1 by definition.
struct ScalingFit {
  double serial_fraction = 0;  // below 0 where the points are superlinear: printed as it is
  std::vector<double> fitted;  // for each point, in the order given
  double residual_rms = 0;     // sqrt(weighted sum of (speedup - fitted)^2 / degrees_of_freedom)
  int degrees_of_freedom = 0;  // distinct numbers of gpus, less the one that defines the speedup, less the fitted number
};

/// Amdahl 1967: S(p) = 1 / (s + (1 - s) / p), the whole work being fixed.
double amdahl_speedup(double serial_fraction, int gpus);
/// Gustafson 1988: S(p) = p - s (p - 1), the work of a gpu being fixed.
double gustafson_speedup(double serial_fraction, int gpus);

/// Least squares in the speedups; points of the same number of gpus share the weight of one: counting repeats would make a
/// certainty of two numbers. Absent with fewer than three distinct numbers, without that of one gpu, or with a speedup that is
/// not positive.
std::optional<ScalingFit> fit_amdahl(const std::vector<ScalingPoint>& points);
std::optional<ScalingFit> fit_gustafson(const std::vector<ScalingPoint>& points);

}  // namespace hpcbench
