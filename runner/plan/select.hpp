#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace hpcbench {

/// The plan with only the configurations of these indices, in this order; `varied` stays that of the whole plan.
Plan keep_configurations(const Plan& plan, const std::vector<std::size_t>& kept);

}  // namespace hpcbench
