#pragma once

#include <string>
#include <vector>

#include "base/run_history.hpp"
#include "plan/plan.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// Whether an ended attempt counts against `retries`: one that `continue` names does not. A failure counts only where the
/// processes' own end tells it, by what was asked of them when they were started: to try again because of a value would select
/// results, and a changed reading rule repeats no run.
bool counts_as_miss(const Experiment& experiment, const std::string& folder, State outcome);

/// The attempt that a run gets of its own accord after its last one.
enum class NextAttempt {
  none,
  again,    // the same again, by `retries`
  segment,  // the next segment, by `continue`
};
/// `last`: the last attempt that is not void, by `history`. `results`: the experiment's folder.
NextAttempt next_attempt(const Experiment& experiment, const std::string& results, const AttemptKey& last,
                         const RunHistory& history);

/// The last attempts of runs of the plan after which another one follows of its own accord, as a campaign would make it now.
std::vector<AttemptKey> attempts_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known);

/// The last segments of runs of the plan whose next one has not begun.
std::vector<AttemptKey> segments_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known);

}  // namespace hpcbench
