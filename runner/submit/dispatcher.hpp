#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/outcome_counts.hpp"
#include "base/run_history.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"
#include "render/attempt.hpp"
#include "spec/experiment.hpp"
#include "submit/events.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Carries a plan through an executor by the protocol of docs/exactly-once.md: each attempt is submitted at most once.
/// What it is given by reference must outlive it. Destroying it leaves the jobs alone.
class Dispatcher {
 public:
  Dispatcher(const Experiment& experiment, const Plan& plan, RenderContext context, Executor& executor, Clock& clock,
             Events& events);
  ~Dispatcher();

  /// From now on nothing begins while `why` gives a reason: no run, no segment, no other attempt; but what `retry` asks for.
  /// What was handed over goes on. `why` is asked often; once it has a reason it keeps it. Before `recover`.
  void hold_when(std::function<std::string()> why);
  /// Takes over what earlier calls left behind: adopts jobs that run, settles what ended, revokes what was never started.
  void recover(const std::vector<AttemptState>& known);
  /// Asks for a new attempt of each of these runs that has an outcome, by the person's will: no limit on retries. Keys of runs
  /// that are not in the plan, or have no outcome, are skipped. After `recover`, before `step`. Returns how many it took.
  long long retry(const std::vector<AttemptKey>& finished);
  /// One round: submit, settle, retry. False when every run has an outcome, or nothing begins any more and nothing runs.
  /// UnavailableError if the executor refuses or a file cannot be written; running jobs continue, and a new
  /// campaign takes over.
  bool step();
  /// Of the runs of the plan, warm-ups included.
  OutcomeCounts counts() const;
  /// Whether nothing is left to hand over now; a retry may come.
  bool all_submitted() const;
  /// The attempts that run now.
  std::vector<AttemptKey> running() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A job that was asked to end.
struct CancelledJob {
  AttemptKey key;
  std::string job;  // the executor's id, where the claim names one
};
struct CancelCounts {
  std::vector<CancelledJob> asked;  // they ran, and were asked to end: `await_ends` tells whether they have
  long long revoked = 0;
  long long unseen = 0;  // run where they cannot be reached from here; each has its note
};
/// Asks the jobs of these attempts to end and revokes those that have not begun: their outcome is `cancelled`.
CancelCounts cancel_attempts(const std::string& results, const std::vector<AttemptState>& attempts, Executor& executor,
                             Events& events);
/// Looks at jobs that were asked to end until each has, `patience_s` is over or `stop` says so; settles those that wrote
/// finished.json. Returns those that were not seen to end.
std::vector<CancelledJob> await_ends(const std::string& results, std::vector<CancelledJob> jobs, Executor& executor,
                                     Clock& clock, double patience_s, const std::function<bool()>& stop, Events& events);

}  // namespace hpcbench
