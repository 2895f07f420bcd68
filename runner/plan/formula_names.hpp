#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// What the formulas and the requirements of `success` of one work name beside metrics and axes, as far as they name it: the
/// parameters with their values, and the derived values with their expressions, in order of need.
struct FormulaNames {
  Bindings parameters;
  std::vector<std::pair<std::string, std::string>> derived;

  bool empty() const { return parameters.empty() && derived.empty(); }
};

FormulaNames formula_names(const Work& work, const std::vector<Derived>& derive);

}  // namespace hpcbench
