#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "base/world.hpp"
#include "events/events.hpp"
#include "strategies/statistics.hpp"
#include "tasks/task.hpp"
#include "training/training.hpp"

namespace hpcbench::train {

/// What is known of a run beside its settings.
struct RunFacts {
  std::vector<std::string> hosts;  // of all ranks
  bool bound = false;              // to its share of the cores
  double data_s = 0;
  double setup_s = 0;
  std::vector<std::pair<std::string, std::string>> device;  // of a GPU what it is, and its modes
  std::vector<std::pair<std::string, std::string>> device_versions;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string advice;  // on how the ranks were started; empty: none
  std::optional<std::int64_t> max_device_bytes;
  std::optional<double> gpu_energy_j;               // of the training, of all ranks' GPUs
  std::optional<std::int64_t> socket_bytes_before;  // sent by this process's sockets before the training
  std::optional<std::int64_t> socket_bytes_after;   // and when it had ended, while every peer was still there
};

/// Of an environment as `environ` has it (NAME=value, ended by null) what changes how ranks communicate, how many threads there
/// are, which GPUs are visible and how they and the CPU compute: NCCL_*, TORCH_NCCL_*, GLOO_*, OMP_*, GOMP_*, PYTORCH_* (its
/// allocators), MKL_*, ONEDNN_*, DNNL_*, ATEN_CPU_CAPABILITY, CUBLAS_WORKSPACE_CONFIG, NVIDIA_TF32_OVERRIDE and some of CUDA_*.
/// By name.
std::vector<std::pair<std::string, std::string>> recorded_environment(const char* const* variables);

/// The run_start event (docs/events.md): every setting that decides what is computed, as it is in force; where and on what it
/// runs. On rank 0 also a line on stdout and the task's notes, which become warnings.
void write_run_start(Events& events, const Settings& settings, const World& world, const Task& task, const RunFacts& facts);

/// The run_end event; on rank 0 also a line on stdout.
void write_run_end(Events& events, const TrainingResult& result, const RunFacts& facts, const World& world,
                   const StrategyStatistics& statistics);

}  // namespace hpcbench::train
