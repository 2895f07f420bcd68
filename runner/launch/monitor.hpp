#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hpcbench {

struct MonitorRequest {
  double interval_s = 0;                      // between samples; 0: no samples
  std::string folder = {};                    // for the files; empty: no samples
  int rank = 0;                               // the first rank that this process starts
  bool ranks_are_children = true;             // false in podman: their load is unknown
  std::optional<int> node_rank = {};          // nullopt: the run has no GPUs, or another process samples those of this node
  std::vector<std::string> environment = {};  // of nvidia-smi
  bool visible_gpus_only = true;              // those of CUDA_VISIBLE_DEVICES, if it is set
};

/// Samples while it exists. Load, power, clock, heat and errors of the node's GPUs go to gpu.csv (gpu.N.csv of node N); without
/// nvidia-smi there is no such file. Processor time and memory of all processes below this one go to monitor.csv (monitor.R.csv
/// of rank R). Create it before the ranks, when the signals that matter are blocked.
class Monitor {
 public:
  explicit Monitor(const MonitorRequest& request);

 private:
  std::jthread sampler_;
};

}  // namespace hpcbench
