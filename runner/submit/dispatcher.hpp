#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/run_history.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"
#include "render/attempt.hpp"
#include "spec/experiment.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Events of a campaign; the command line journals them in the index and shows progress. `intended` must be
/// journaled before it returns; `submitted` and `settled` may be written later, in groups: recovery reads the folders.
class DispatchObserver {
 public:
  virtual ~DispatchObserver() = default;
  /// Durable on disk, not yet handed to the executor. One call a batch. An attempt that an earlier call intended and never
  /// handed over may come again, in a new batch.
  virtual void intended(const std::string& batch, const std::vector<AttemptKey>& attempts) = 0;
  virtual void submitted(const AttemptKey& attempt, const std::string& job) = 0;
  /// The attempt has ended (finished.json, or settled without it); reads its folder and answers its outcome. A `cancelled`
  /// whose reason begins with `void: ` is an attempt that never ran and never will: it does not count, and its run gets
  /// another.
  virtual State settled(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason) = 0;
  /// An attempt that was settled without success is followed by another: it decides nothing.
  virtual void tried_again(const AttemptKey& /*attempt*/) {}
  virtual void note(const std::string& text) = 0;
};

struct DispatchCounts {
  long long total = 0;  // runs asked for, warm-ups included
  long long done = 0;   // with an outcome
  long long succeeded = 0;
  long long running = 0;
};

/// Carries a plan through an executor by the protocol of docs/exactly-once.md: each attempt is submitted at most once.
/// What it is given by reference must outlive it. Destroying it leaves the jobs alone.
class Dispatcher {
 public:
  Dispatcher(const Experiment& experiment, const Plan& plan, RenderContext context, Executor& executor, Clock& clock,
             DispatchObserver& observer);
  ~Dispatcher();

  /// From now on nothing begins while `why` gives a reason: no run, no segment, no other attempt; but what `retry` asks for.
  /// What was handed over goes on. `why` is asked often; once it has a reason it keeps it. Before `recover`.
  void hold_when(std::function<std::string()> why);
  /// The experiment's `prepare` command has run in this call: it does not run again. Before `step`.
  void skip_prepare();
  /// Whether the `prepare` command has run.
  bool has_prepared() const;
  /// Takes over what earlier calls left behind: adopts jobs that run, settles what ended, revokes what was never started.
  void recover(const std::vector<AttemptState>& known);
  /// Asks for a new attempt of each of these runs that has an outcome, by the person's will: no limit on retries. Keys of runs
  /// that are not in the plan, or have no outcome, are skipped. After `recover`, before `step`. Returns how many it took.
  long long retry(const std::vector<AttemptKey>& finished);
  /// One round: submit, settle, retry. False when every run has an outcome, or nothing begins any more and nothing runs.
  /// UnavailableError if the executor refuses, `prepare` fails or a file cannot be written; jobs that run go on, and a new
  /// campaign takes over.
  bool step();
  DispatchCounts counts() const;
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
                             DispatchObserver& observer);
/// Looks at jobs that were asked to end until each has, `patience_s` is over or `stop` says so; settles those that wrote
/// finished.json. Returns those that were not seen to end.
std::vector<CancelledJob> await_ends(const std::string& results, std::vector<CancelledJob> jobs, Executor& executor,
                                     Clock& clock, double patience_s, const std::function<bool()>& stop,
                                     DispatchObserver& observer);

}  // namespace hpcbench
