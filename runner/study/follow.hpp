#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/outcome_counts.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "store/store.hpp"
#include "study/progress.hpp"
#include "study/remaining_time.hpp"
#include "study/study.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

/// Whether the plan asks for this run: a repeat of one of its configurations.
bool is_asked(const Plan& plan, const AttemptKey& key);
/// Counts the runs (counting_states) that the plan asks for.
OutcomeCounts count_outcomes(const std::vector<AttemptState>& runs, const Plan& plan);

/// The runs that the plan asks for and that have one of these outcomes.
std::vector<AttemptKey> attempts_to_retry(const std::vector<AttemptState>& states, const Plan& plan,
                                          const std::vector<State>& outcomes);
/// For people, where outcomes are named and no run has one: `nothing to run again: all 4 runs that have ended succeeded`.
std::string why_none_to_retry(const std::vector<AttemptState>& states, const Study& study, const std::vector<State>& outcomes);

/// Tells how long runs took in earlier calls, and which of this plan are to be made now.
void expect_runs(RemainingTime& remaining, const Study& study, const Plan& plan, const Store& store,
                 const std::vector<AttemptState>& states, const std::vector<AttemptKey>& retried);

/// Waits for the lock of a study. While another process holds it, it shows how the study goes there, unless the call has other
/// studies, whose progress is shown.
class Following {
 public:
  explicit Following(const Study& study) : study_(study) {}

  /// Absent while another process holds it.
  std::optional<ExperimentLock> try_lock();

 private:
  void show();
  void note_ends(const Store& store, const std::vector<AttemptState>& runs);

  const Study& study_;
  std::optional<Progress> progress_;  // once another process was seen to hold it
  bool knows_ends_ = false;
  std::vector<AttemptKey> ended_;  // the runs that had at the last look, sorted
};

}  // namespace hpcbench
