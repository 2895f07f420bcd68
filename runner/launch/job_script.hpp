#pragma once

#include <optional>
#include <string>

#include "launch/free_port.hpp"
#include "launch/launch_job.hpp"
#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

/// How an attempt's job.sh ended.
struct ScriptEnd {
  FinishedFacts facts;
  bool broken = false;   // not by the program: its step could not begin, or a rank is gone and none says why
  bool stopped = false;  // something else than hpcbench or the time limit asked us to end: the scheduler says what
};

/// Runs job.sh of an attempt that is ours in a job of Slurm, and gathers what its ranks report. Success is a good report of
/// every rank; the exit code of srun makes none. A try of the script in which no rank began because srun could not start any
/// is closed and repeated, a few times. Near the time limit the step is asked to end by scancel, and killed after the grace;
/// asked to end by Slurm, we wait for the ranks, which Slurm has told.
class JobScript {
 public:
  /// In a block (else null) other runs follow in the same job. Then the run's time limit is not the job's, and is kept here;
  /// and the run may be asked to end alone, by `cancel_requested` in its folder and SIGUSR2.
  JobScript(std::string attempt_folder, std::string run_dir, RunInfo run, SlurmJobFacts job, Supervisor& supervisor,
            double grace_s, const BlockPlace* block);

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
  void warn_ranks();
  void find_limit();
  bool run_try();
  bool await_word(const FinishedFacts& facts);
  void note_neighbours(FinishedFacts& facts) const;
  bool cancel_requested() const;
  bool near_limit() const;
  bool waited_in_vain() const;
  bool asked_to_end() const {
    return supervisor_.so_far().cancelled_by || supervisor_.so_far().timed_out || (in_block_ && cancel_requested());
  }

  std::string folder_, run_dir_;
  RunInfo run_;
  SlurmJobFacts job_;
  Supervisor& supervisor_;
  double grace_s_;
  bool in_block_;
  std::string bindings_;  // of a block whose runs go on side by side
  std::string address_;
  std::optional<FreePort> port_;
  int try_ = 0;          // 0: none was started
  bool killed_ = false;  // the step was
  Supervision script_;   // of the last try
  double begin_s_ = 0;
  std::optional<double> warn_s_;   // before the time limit; absent: the program is not warned
  std::optional<double> limit_s_;  // of a run that may be continued, from where its first process begins
};

}  // namespace hpcbench
