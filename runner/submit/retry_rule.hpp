#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "spec/experiment.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

/// Whether an ended attempt counts against `retries`: what `continue` names does not. Of failures only those do that the
/// processes' own end tells, by what it was to be when they were started: to try again because of a value would select results,
/// and a changed reading rule repeats no run.
bool counts_as_miss(const Experiment& experiment, const std::string& folder, State outcome);

/// The last attempts of runs of the plan that ended so that a campaign gives them another one of its own accord.
std::vector<AttemptKey> attempts_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known);

}  // namespace hpcbench
