#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// The job of Slurm that this process runs in, as its environment has it.
struct SlurmJobFacts {
  std::string name;   // ARRAY_INDEX for an element of an array, whose id may be the whole array's; else the id; empty: no job
  std::string node;   // the node's name, which need not be the host's
  std::string nodes;  // the job's list of nodes
};

SlurmJobFacts slurm_job_facts();

/// The number of this process's element of a job array. UnavailableError where it is none; `command` is named in it.
std::size_t array_element(const std::string& command);

/// When the job's time is over, as the controller says, else the environment that the job began with; absent where neither
/// does.
std::optional<double> job_end_unix_s(const SlurmJobFacts& job);

/// For how many seconds, negative ones too, ranks may go on before they have to be ended so that they and the job end in time.
std::optional<double> time_left_s(const SlurmJobFacts& job);

/// Whether the controller is ending this job: cancelled, over time, preempted, a node gone. It says so before any process of
/// the job hears of it. False where it does not answer, or where a signal is all that was sent.
bool is_ending(const SlurmJobFacts& job);

/// Whether the job has to give way to another one. While its grace lasts (GraceTime) only its steps have been told so.
bool is_giving_way(const SlurmJobFacts& job);

/// Slurm's ProctrackType, as the controller says: which processes of a step a signal reaches. Empty: it did not answer.
std::string process_tracker();

/// These nodes of a job's list, as a list in its order, in which srun counts ranks.
std::string nodes_of_run(const std::string& list, const std::vector<std::string>& chosen);

/// Where ranks on several nodes find the first one of the list: by its name where that is known to all, else by the
/// address that Slurm has.
std::string meeting_address(const SlurmJobFacts& job, int nodes);

/// The GPUs of the job on this node, a line each; absent where there is no nvidia-smi.
std::optional<std::string> list_gpus();

/// Sends a signal to all processes of a step, JOB.STEP.
void signal_step(const std::string& step, const std::string& signal);

/// Whether the answer of `squeue -s -o %i` has this step of the job: it calls `12_3.0` what the environment of element 3 of
/// array 12 calls `15.0`.
bool lists_step(const std::string& listed, const SlurmJobFacts& job, const std::string& step);

/// Waits until Slurm no longer knows the step of this job, at most `patience_s`.
void await_step_end(const SlurmJobFacts& job, const std::string& step, double patience_s);

}  // namespace hpcbench
