#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "base/state.hpp"
#include "store/store.hpp"
#include "study/remaining_time.hpp"
#include "study/steps.hpp"
#include "study/study.hpp"
#include "submit/dispatcher.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

/// How far the runs are that a study asks for.
struct OutcomeCounts {
  long long asked = 0;
  long long ended = 0;
  long long succeeded = 0;
  long long set_aside = 0;  // not among the others
};

/// Whether the study asks for this run: a repeat of a configuration that was selected.
bool is_asked(const Study& study, const AttemptKey& key);
/// Of those runs (counting_states) that are asked for.
OutcomeCounts count_outcomes(const std::vector<AttemptState>& runs, const Study& study);

/// The runs that are asked for and have one of these outcomes.
std::vector<AttemptKey> attempts_to_retry(const std::vector<AttemptState>& states, const Study& study,
                                          const std::vector<State>& outcomes);
/// For people, where outcomes are named and no run has one: `nothing to run again: all 4 runs that have ended succeeded`.
std::string why_none_to_retry(const std::vector<AttemptState>& states, const Study& study, const std::vector<State>& outcomes);

/// Tells how long runs took in earlier calls, and which are to be made now.
void expect_runs(RemainingTime& remaining, const Study& study, const Store& store, const std::vector<AttemptState>& states,
                 const std::vector<AttemptKey>& retried);

/// Waits until no other process owns the experiment; shows how it goes there. Absent when we were interrupted.
Steps<std::optional<ExperimentLock>> own_or_follow(const Study& study);

}  // namespace hpcbench
