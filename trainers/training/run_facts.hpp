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

/// Facts of a run besides its settings.
struct RunFacts {
  std::vector<std::string> hosts;  // of all ranks
  bool bound = false;              // to its share of the cores
  double data_s = 0;
  double setup_s = 0;
  std::vector<std::pair<std::string, std::string>> device;  // for a GPU its properties and modes
  std::vector<std::pair<std::string, std::string>> device_versions;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string advice;  // on how the ranks were started; empty: none
  std::optional<std::int64_t> max_device_bytes;
  std::optional<double> gpu_energy_j;               // of the training, of all ranks' GPUs
  std::optional<std::int64_t> socket_bytes_before;  // sent by this process's sockets before the training
  std::optional<std::int64_t> socket_bytes_after;   // and after its end, while every peer still existed
};

/// Returns, from an environment like `environ` (NAME=value, ended by null), the variables that change how ranks communicate,
/// the number of threads, the visible GPUs, and how they and the CPU compute: NCCL_*, TORCH_NCCL_*, GLOO_*, OMP_*, GOMP_*,
/// PYTORCH_* (its allocators), MKL_*, ONEDNN_*, DNNL_*, ATEN_CPU_CAPABILITY, CUBLAS_WORKSPACE_CONFIG, NVIDIA_TF32_OVERRIDE and
/// some of CUDA_*. By name.
std::vector<std::pair<std::string, std::string>> recorded_environment(const char* const* variables);

/// Writes the run_start event (docs/events.md): the effective value of every setting that determines what is computed; the
/// machine and software. On rank 0 also a line on stdout and the task's notes, which become warnings.
void write_run_start(Events& events, const Settings& settings, const World& world, const Task& task, const RunFacts& facts);

/// Writes the run_end event; on rank 0 also a line on stdout.
void write_run_end(Events& events, const TrainingResult& result, const RunFacts& facts, const World& world,
                   const StrategyStatistics& statistics);

}  // namespace hpcbench::train
