#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// Whether an axis lays processes out over nodes: `nodes`, `gpus_per_node`, `ranks_per_node`.
bool is_layout(const std::string& axis);

/// `ranks` if this is the unit and a study without `ranks_per_node` has an axis of this name: then the command starts its
/// processes itself, and the axis counts them. Else empty.
std::string own_size_axis(const Plan& plan, ScaleBy unit);
/// The value of that axis, else run_size.
int size_of(const Plan& plan, const Configuration& configuration, ScaleBy unit);

/// The axes that say how large a configuration is, and so do not tell one line of a scaling plot from another: those of the
/// layout, counted in cores also those that cpus_per_task takes, and every axis that varies together with them, such as a
/// problem size zipped to the gpus. An axis varies together with them if, among configurations that are alike in all other
/// axes, equal layouts mean an equal value, and it has several. Under weak scaling that counts for numbers, and for any
/// values in one zip block with them; where the work is the same, for numbers in one zip block with them. Never `strategy`.
std::vector<std::string> size_axes(const Experiment& experiment, const Plan& plan);

/// Those of size_axes that points compared with one baseline may differ in. An axis without which two baselines would be the
/// same is none: each size then has a baseline of its own.
std::vector<std::string> compared_sizes(const Experiment& experiment, const Plan& plan);

/// Equal for points of equal size: the values of `sizes`.
std::string size_key(const Bindings& axes, const std::vector<std::string>& sizes);

/// Equal for points that share a baseline: all axes but `strategy`, those that `baseline` names, and `sizes`.
std::string comparison_key(const Bindings& axes, const Condition& baseline, const std::vector<std::string>& sizes);

}  // namespace hpcbench
