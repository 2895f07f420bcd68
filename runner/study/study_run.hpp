#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/diff.hpp"
#include "study/call.hpp"
#include "study/follow.hpp"
#include "study/pace.hpp"
#include "study/round_queue.hpp"
#include "study/round_run.hpp"
#include "study/run_study.hpp"
#include "study/study_watch.hpp"

namespace hpcbench {

/// One study of a call, from its lock to its summary.
class StudyRun {
 public:
  /// All of them must outlive it.
  StudyRun(const Study& study, const RunOptions& options, Call& call);

  /// Checks a study that has no results yet: throws where it is refused, and leaves no folder behind.
  void check_new() const;
  /// Takes the lock, or follows the process that holds it; checks what is on record, and says what is about to happen. Begins
  /// nothing. `ended`: nothing is to begin. Throws where the study is refused.
  Pace begin();
  /// Does what can be done now of its rounds. Only after `begin` has returned `again`.
  Pace step();
  /// Once it has ended: the exit code.
  int code() const { return code_; }

 private:
  Pace announce_runs();
  std::vector<AttemptKey> require_startable(const Store& store, const std::vector<AttemptState>& states, PlanDiff& diff) const;
  void set_finished_aside();
  Pace begin_round();
  Pace end_round();
  bool stops_between() const;
  bool is_cancelled();
  Pace end_cancelled();
  int summarise() const;
  Pace end(int code);

  const Study& study_;
  const RunOptions& options_;
  Call& call_;
  const std::string end_request_;       // the last one before this call
  std::optional<Following> following_;  // until the lock is ours
  std::optional<ExperimentLock> lock_;
  std::vector<AttemptState> states_;  // on record when the next round begins
  std::vector<AttemptKey> repeated_;  // finished attempts that --again sets aside first
  StudyWatch watch_;
  std::unique_ptr<RoundQueue> rounds_;
  std::unique_ptr<RoundRun> round_;  // the one that is carried out
  bool anything_ = false;            // there was something to do
  bool stopped_ = false;             // failures, a broken executor or `cancel` ended it, which was said
  int code_ = 0;
};

}  // namespace hpcbench
