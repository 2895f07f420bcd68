#pragma once

#include <vector>

#include "base/metric.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

FormulaNames formula_names(const Work& work, const std::vector<Derived>& derive);

}  // namespace hpcbench
