#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// The job of Slurm that this process runs in, as its environment has it.
struct SlurmJobFacts {
  std::string id;     // of the job alone, as scancel and squeue take it for steps; empty: this is no job of Slurm
  std::string name;   // ARRAY_INDEX where it is an element of an array, else the id
  std::string node;   // the node's name, which need not be the host's
  std::string nodes;  // the job's list of nodes
};

SlurmJobFacts slurm_job_facts();

/// Where ranks on several nodes find the first one, which is this one: by its name where that is known to all, else by the
/// address that Slurm has.
std::string meeting_address(const SlurmJobFacts& job, int nodes);

/// The GPUs of the job on this node, a line each; absent where there is no nvidia-smi.
std::optional<std::string> list_gpus();

/// Sends a signal to all processes of a step, JOB.STEP.
void signal_step(const std::string& step, const std::string& signal);

/// Waits until Slurm no longer knows the step, at most `patience_s`.
void await_step_end(const std::string& step, double patience_s);

}  // namespace hpcbench
