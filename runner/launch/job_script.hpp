#pragma once

#include <optional>
#include <string>

#include "base/environment.hpp"
#include "launch/free_port.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

/// How an attempt ended.
struct AttemptEnd {
  FinishedFacts facts;
  int status = 0;        // as launch_attempt returns it
  bool broken = false;   // not by the program: its step could not begin, or a rank is gone and no report says why
  bool stopped = false;  // something else than hpcbench or the time limit asked us to end: the scheduler says what
};

/// Runs job.sh of an attempt that this process claimed, and gathers what its ranks report. Success is a good report of every
/// rank; the exit code of what starts the ranks makes none. Here job.sh ends in `hpcbench rank -n N`, which ends its ranks when
/// one fails or when it is asked to; the time limit counts from the start of the script. StepScript adds what a scheduler with
/// steps needs.
class JobScript {
 public:
  /// UnavailableError without a free port. `run_dir`: the program's folder. `grace_s`: between the request that ranks end and
  /// SIGKILL.
  JobScript(std::string attempt_folder, std::string run_dir, RunInfo run, Supervisor& supervisor, double grace_s);
  JobScript(const JobScript&) = delete;
  JobScript& operator=(const JobScript&) = delete;
  virtual ~JobScript() = default;

  /// Writes started.json, then runs the script.
  AttemptEnd run(StartedFacts started);
  /// Removes what the ranks reported; after finished.json was written.
  void remove_tries() const;

 protected:
  virtual void add_facts(StartedFacts& started) const;
  virtual EnvironmentChanges variables() const;
  virtual SupervisionRules rules();
  /// Whether job.sh is started: first, and again after a try in which no rank began.
  virtual bool begins_try() { return try_ == 0; }
  virtual bool asked_to_end() const { return supervisor_.so_far().cancelled_by || supervisor_.so_far().timed_out; }
  virtual void warn_ranks();
  virtual void end_ranks(int signal);
  /// After a try that began and whose script has ended.
  virtual void await_reports() {}
  /// Whether no rank began because the program that starts ranks could start none.
  virtual bool starter_failed() const { return false; }
  /// Concludes whether the time limit, a person or a scheduler ended the run, or nothing did. `begun`: a rank was.
  virtual void settle(AttemptEnd& end, bool begun);

  std::string try_folder() const;

  std::string folder_, run_dir_;
  RunInfo run_;
  Supervisor& supervisor_;
  double grace_s_;
  int try_ = 0;         // 0: none was started
  Supervision script_;  // of the last try

 private:
  ProcessSpec spec() const;
  bool run_try(FinishedFacts& facts);
  void note_no_rank(FinishedFacts& facts) const;
  bool note_reports(FinishedFacts& facts) const;
  bool note_unexplained(FinishedFacts& facts) const;

  FreePort port_;
  std::optional<long long> oom_kills_;  // before
};

}  // namespace hpcbench
