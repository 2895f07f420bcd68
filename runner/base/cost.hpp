#pragma once

#include <optional>

namespace hpcbench {

/// The unit of a run's cost: hours of each of its GPUs, or hours of each of its nodes.
enum class CostUnit { gpu_hours, node_hours };

/// Returns the unit as messages print it.
inline const char* to_string(CostUnit unit) { return unit == CostUnit::gpu_hours ? "GPU-hours" : "node-hours"; }
/// Returns the unit's key in experiment files and JSON.
inline const char* key_of(CostUnit unit) { return unit == CostUnit::gpu_hours ? "gpu_hours" : "node_hours"; }
/// Returns the unit's word on a command line.
inline const char* word_of(CostUnit unit) { return unit == CostUnit::gpu_hours ? "gpu-hours" : "node-hours"; }
constexpr CostUnit kCostUnits[] = {CostUnit::gpu_hours, CostUnit::node_hours};

struct Cost {
  double hours = 0;
  CostUnit unit = CostUnit::gpu_hours;
};

/// `run` asks the user to confirm a cost above these limits.
struct CostLimits {
  std::optional<double> gpu_hours, node_hours;

  std::optional<double>& of(CostUnit unit) { return unit == CostUnit::gpu_hours ? gpu_hours : node_hours; }
  const std::optional<double>& of(CostUnit unit) const { return unit == CostUnit::gpu_hours ? gpu_hours : node_hours; }
};

}  // namespace hpcbench
