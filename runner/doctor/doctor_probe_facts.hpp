#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/doctor.hpp"

namespace hpcbench {

/// What a node says of itself (launch/probe_node.hpp). Absent is not known.
struct NodeFacts {
  std::string node;
  std::optional<int> gpus;  // absent: no nvidia-smi
  std::optional<int> usable_cores, granted_cores;
  std::optional<double> granted_memory_mb;
  std::vector<std::string> missing;  // of the programs that a run starts
  std::optional<std::string> torch;  // `2.13.0, CUDA 13.0, NCCL 2.27.3`; absent: not asked, or not there
  bool answered = false;             // it saw the login side's file
  double unix_s = 0;                 // by its clock
};
/// Absent if the text is none.
std::optional<NodeFacts> parse_node_facts(std::string_view json);

/// A node's word, and between which times of this machine's clock it was said.
struct NodeWord {
  NodeFacts facts;
  double asked_unix_s = 0;  // when the login side answered
  double seen_unix_s = 0;
};

/// What a job asked for on each node.
struct ProbeShape {
  int nodes = 1;
  std::optional<int> gpus;  // absent: the experiment asks in words of its own (`gres`), or for none
  int cores = 1;
};
/// `2 nodes with 4 GPUs each`.
std::string describe(const ProbeShape& shape);

/// How a probe's job went.
struct ProbeEnd {
  bool began = false;                // its script left a file in the folder
  std::optional<int> starts_status;  // of `hpcbench --version` there
  std::optional<int> job_status;     // of job.sh
  bool timed_out = false;            // we cancelled it at the limit
  std::string state, reason;         // Slurm's last words
  std::string nodes;                 // empty: none yet
  std::string words;                 // the last line that the job wrote
  std::vector<NodeWord> said;
};

/// One line or more for a job: what did not work and what to do, else what its nodes say.
void find_in_probe(const ProbeShape& shape, const ProbeEnd& end, const std::string& hpcbench, double limit_s,
                   Findings& findings);
/// The same of a job on this machine.
void find_in_probe_here(const ProbeEnd& end, const std::string& hpcbench, double limit_s, Findings& findings);

}  // namespace hpcbench
