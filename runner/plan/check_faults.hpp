#pragma once

#include "base/faults.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

/// What `inject` asks of a configuration, with the last rank and the last node where it names none. InputError, with the place,
/// where the configuration has no such rank or node, or hpcbench does not start what would be hit.
Faults faults_of(const Configuration& configuration);

}  // namespace hpcbench
