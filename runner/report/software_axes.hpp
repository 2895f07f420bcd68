#pragma once

#include <string>
#include <vector>

#include "spec/experiment.hpp"

namespace hpcbench {

/// Returns the `axes` that determine the software or the machines of runs: `modules`, `container`, `environment`, `setup`,
/// `partition` or `resources` depend on them, by a placeholder (also of a value derived from them) or by an override's
/// `when`.
std::vector<std::string> software_axes(const Experiment& experiment, std::vector<std::string> axes);

/// Returns the axes that choose input decks: in the names of `files`, or by `when` of overrides that bring files.
std::vector<std::string> deck_axes(const Experiment& experiment, std::vector<std::string> axes);

}  // namespace hpcbench
