#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A node, as `sinfo -h -N -o '%n|%T|%c|%G'` prints it.
struct SlurmNode {
  std::string host;
  std::string state;
  int cpus = 0;
  int gpus = 0;                    // of the requested type
  std::vector<std::string> types;  // of its GPUs
  bool takes_jobs = false;         // neither down nor drained
};
/// Parses sinfo's output. `gpu_type`: count only GPUs of this type; empty: all.
std::vector<SlurmNode> parse_nodes(std::string_view output, std::string_view gpu_type);

/// Counts the GPUs of a gres list: `gpu:a100:2(S:0-1),gpu:1` gives 3; with `type` a100, 2.
int count_gpus(std::string_view gres, std::string_view type);

}  // namespace hpcbench
