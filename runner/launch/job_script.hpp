#pragma once

#include <string>

#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/run_description.hpp"

namespace hpcbench {

/// How an attempt's job.sh ended.
struct ScriptEnd {
  FinishedFacts facts;
  bool stopped = false;  // something else than hpcbench or the time limit asked us to end: the scheduler says what
};

/// Runs job.sh of an attempt that is ours in a job of Slurm, and gathers what its ranks report. Success is a good report of
/// every rank; the exit code of srun makes none. A try of the script in which no rank began because srun could not start any
/// is closed and repeated, a few times. Near the time limit the step is asked to end by scancel, and killed after the grace;
/// asked to end by Slurm, we wait for the ranks, which Slurm has told.
class JobScript {
 public:
  JobScript(std::string attempt_folder, RunDescription run, SlurmJobFacts job, Supervisor& supervisor, double grace_s);

  /// Writes started.json, then runs the script.
  ScriptEnd run(StartedFacts started);
  /// Removes what the ranks reported; once finished.json stands.
  void remove_tries() const;

 private:
  std::string try_folder() const;
  ProcessSpec spec() const;
  SupervisionRules rules();
  void end_ranks(int signal);
  void end_step(const std::string& step, int signal);
  bool run_try();
  void read_reports(FinishedFacts& facts) const;
  void note_unexplained(FinishedFacts& facts) const;
  void await_word(const FinishedFacts& facts);
  bool cancel_requested() const;
  bool near_limit() const;
  bool asked_to_end() const { return supervisor_.so_far().cancelled_by || supervisor_.so_far().timed_out; }

  std::string folder_;
  RunDescription run_;
  SlurmJobFacts job_;
  Supervisor& supervisor_;
  double grace_s_;
  std::string address_;
  int port_ = 0;
  int try_ = 0;          // 0: none was started
  bool killed_ = false;  // the step was
  Supervision script_;   // of the last try
  double begin_s_ = 0;
};

}  // namespace hpcbench
