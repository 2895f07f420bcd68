#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/doctor.hpp"

namespace hpcbench {

/// Facts that a node reports about itself (launch/probe_node.hpp). nullopt: unknown.
struct NodeFacts {
  std::string node;
  std::optional<int> gpus;  // nullopt: no nvidia-smi
  std::optional<int> usable_cores, granted_cores;
  std::optional<double> granted_memory_mb;
  std::vector<std::string> missing;  // of the programs that a run starts
  std::optional<std::string> torch;  // `2.13.0, CUDA 13.0, NCCL 2.27.3`; nullopt: not requested, or missing
  bool answered = false;             // it saw the file of the login node
  double unix_s = 0;                 // by its clock
};
/// Parses a node's report; nullopt for any other text.
std::optional<NodeFacts> parse_node_facts(std::string_view json);

/// A node's report, and the interval of this machine's clock in which the node wrote it.
struct NodeWord {
  NodeFacts facts;
  double asked_unix_s = 0;  // when the login node answered
  double seen_unix_s = 0;
};

/// The request of a job on each node.
struct ProbeShape {
  int nodes = 1;
  std::optional<int> gpus;  // nullopt: the experiment requests GPUs in its own words (`gres`), or none
  int cores = 1;
};
/// Returns a phrase: `2 nodes with 4 GPUs each`.
std::string describe(const ProbeShape& shape);

/// The end of a probe's job.
struct ProbeEnd {
  bool began = false;                // its script created a file in the folder
  std::optional<int> starts_status;  // of `hpcbench --version` there
  std::optional<int> job_status;     // of job.sh
  bool timed_out = false;            // cancelled at the limit
  std::string state, reason;         // Slurm's last report
  std::string nodes;                 // empty: none yet
  std::string words;                 // the last line of the job's output
  std::vector<NodeWord> said;
};

/// Adds at least one line for a job: the failure and what to do, else the facts of its nodes.
void find_in_probe(const ProbeShape& shape, const ProbeEnd& end, const std::string& hpcbench, double limit_s,
                   Findings& findings);
/// Does the same for a job on this machine.
void find_in_probe_here(const ProbeEnd& end, const std::string& hpcbench, double limit_s, Findings& findings);

}  // namespace hpcbench
