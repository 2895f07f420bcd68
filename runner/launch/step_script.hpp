#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/job_script.hpp"
#include "launch/slurm_job.hpp"

namespace hpcbench {

/// A block of runs in one job, as each of its attempts must know it.
struct BlockPlace {
  std::vector<std::string> nodes;  // in the order in which they were drawn: a run takes as many from its beginning as it needs
  std::string bindings;            // kBindingsFile of a block with several lanes; else empty
};

/// job.sh in a job whose ranks are steps of Slurm. A try of the script in which no rank began because srun could not start any
/// is closed and repeated, a few times. Near the time limit the step is asked to end by scancel, and killed after the grace;
/// asked to end by Slurm, we wait for the ranks, which Slurm has told.
class StepScript : public JobScript {
 public:
  /// In a block (else null) other runs follow in the same job. Then the run's time limit is not the job's, and is kept here;
  /// and the run may be asked to end alone, by a request in its folder and SIGUSR2.
  StepScript(std::string attempt_folder, std::string run_dir, RunInfo run, SlurmJobFacts job, Supervisor& supervisor,
             const BlockPlace* block);

 private:
  void add_facts(StartedFacts& started) const override;
  EnvironmentChanges variables() const override;
  SupervisionRules rules() override;
  bool begins_try() override;
  bool asked_to_end() const override;
  void warn_ranks() override;
  void end_ranks(int signal) override;
  void await_reports() override;
  bool starter_failed() const override;
  void settle(AttemptEnd& end, bool begun) override;

  void choose_nodes(const std::vector<std::string>& drawn);
  void find_limit();
  void end_step(const std::string& step, int signal);
  bool await_word(const Supervision& supervision, bool oom_kill);
  void note_neighbours(FinishedFacts& facts) const;
  bool cancel_requested() const;
  bool near_limit() const;
  bool waited_in_vain() const;

  SlurmJobFacts job_;
  bool in_block_;
  bool is_here_ = true;   // whether this node is one of the run's
  std::string bindings_;  // of a block with several lanes
  std::string address_;
  bool killed_ = false;  // the step was
  double begin_s_ = 0;
  std::optional<double> warn_s_;   // before the time limit; absent: the program is not warned
  std::optional<double> limit_s_;  // of a run that may be continued, from where its first process begins
};

}  // namespace hpcbench
