#pragma once

#include <optional>

namespace hpcbench {

/// What the cost of runs is counted in: the hours of each GPU that a run has, or of each of its nodes.
enum class CostUnit { gpu_hours, node_hours };

/// For people.
inline const char* to_string(CostUnit unit) { return unit == CostUnit::gpu_hours ? "GPU-hours" : "node-hours"; }
/// In an experiment file, and in JSON.
inline const char* key_of(CostUnit unit) { return unit == CostUnit::gpu_hours ? "gpu_hours" : "node_hours"; }
/// On a command line.
inline const char* word_of(CostUnit unit) { return unit == CostUnit::gpu_hours ? "gpu-hours" : "node-hours"; }
constexpr CostUnit kCostUnits[] = {CostUnit::gpu_hours, CostUnit::node_hours};

struct Cost {
  double hours = 0;
  CostUnit unit = CostUnit::gpu_hours;
};

/// Above these `run` asks.
struct CostLimits {
  std::optional<double> gpu_hours, node_hours;

  std::optional<double>& of(CostUnit unit) { return unit == CostUnit::gpu_hours ? gpu_hours : node_hours; }
  const std::optional<double>& of(CostUnit unit) const { return unit == CostUnit::gpu_hours ? gpu_hours : node_hours; }
};

}  // namespace hpcbench
