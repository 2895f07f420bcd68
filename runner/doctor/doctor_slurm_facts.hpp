#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A partition, as `scontrol -o show partition` has it.
struct SlurmPartition {
  std::string name;
  bool is_default = false;
  std::string state;                 // UP, DOWN, DRAIN, INACTIVE
  std::optional<double> max_time_s;  // absent: unlimited
  std::optional<int> max_nodes;      // of one job; absent: unlimited
  int nodes = 0;
  std::string default_time;  // as Slurm prints it
};
/// One partition a line; what is not understood is passed over.
std::vector<SlurmPartition> parse_partitions(std::string_view output);

/// A node, as `sinfo -h -N -o '%n|%T|%c|%G'` has it.
struct SlurmNode {
  std::string host;
  std::string state;
  int cpus = 0;
  int gpus = 0;                    // of the type that was asked for
  std::vector<std::string> types;  // of its GPUs
  bool takes_jobs = false;         // neither down nor drained
};
/// `gpu_type`: count only these; empty: all.
std::vector<SlurmNode> parse_nodes(std::string_view output, std::string_view gpu_type);

/// `gpu:a100:2(S:0-1),gpu:1` counts 3; with `type` a100, 2.
int count_gpus(std::string_view gres, std::string_view type);

}  // namespace hpcbench
