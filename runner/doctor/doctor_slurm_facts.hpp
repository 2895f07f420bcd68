#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

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
