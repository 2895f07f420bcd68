#pragma once

#include <string>
#include <vector>

#include "spec/parsed_experiment.hpp"

namespace hpcbench {

/// The derived values in order of need: what one names stands before it; else as the file has them. Without cycles.
std::vector<Derived> in_order_of_need(const std::vector<ParsedDerived>& derive);

/// The names of values that are derived from each other, the first one again at the end; empty where there are none.
std::vector<std::string> derive_cycle(const std::vector<ParsedDerived>& derive);

}  // namespace hpcbench
