#pragma once

#include <string>
#include <vector>

#include "spec/experiment.hpp"

namespace hpcbench {

/// Those of `axes` that say in what software, or on what machines, runs are: those that `modules`, `container`, `environment`,
/// `setup`, `partition` and `resources` are given, by a placeholder (also of a value derived from them) or by an override's
/// `when`.
std::vector<std::string> software_axes(const Experiment& experiment, std::vector<std::string> axes);

}  // namespace hpcbench
