#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/block_times.hpp"

namespace hpcbench {

// How long a job may be, as Slurm's tools say. Pure and total, as slurm_parse.hpp.

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

/// The longest job that one of these partitions takes: `said` names them with commas between; absent: the default one. Absent
/// where one of them has no limit, or is not known.
std::optional<LongestJob> longest_job(const std::vector<SlurmPartition>& known, const std::optional<std::string>& said);

/// The answer of `sacctmgr -n -P show qos where name=NAME format=name,maxwall`: the longest job of this QOS; absent: unlimited,
/// or not known.
std::optional<double> parse_max_wall(std::string_view output, std::string_view qos);

}  // namespace hpcbench
