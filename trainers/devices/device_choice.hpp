#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/world.hpp"

namespace hpcbench::train {

/// A GPU as this process sees it.
struct Gpu {
  std::string model;
  std::string uuid;  // as nvidia-smi prints it; for a MIG instance its own
  bool bf16 = false;
  std::int64_t memory_bytes = 0;
  std::string capability = {};  // `9.0`
  int multiprocessors = 0;
  std::string pci_bus = {};  // `0000:17:00.0`
};

/// The GPUs that build and machine offer to this process.
struct Machine {
  bool cuda_build = false;          // built with a CUDA LibTorch
  std::vector<Gpu> gpus;            // visible to this process, in its numbering
  std::string why_no_gpu;           // the driver's message, if a build with CUDA finds no GPU
  std::string cuda_build_version;   // `13.0`: the CUDA that the build is for
  std::string cuda_driver_version;  // `12.8`: the newest CUDA that the driver supports; empty: no driver
  std::string driver;               // `570.86.15`; empty: unknown
  std::string visible_list;         // CUDA_VISIBLE_DEVICES; empty: not set
};

/// The device and kernels of a process: `device` and `kernels` without `auto`. Only kernels on a GPU stay `auto`, if the task
/// has some: the task then decides by the model's size.
struct DevicePlan {
  DeviceChoice device = DeviceChoice::cpu;
  KernelChoice kernels = KernelChoice::own;
  int first_gpu = 0;  // cuda: the process uses this one, and the following ones up to device_count()
};

/// Resolves `device` and `kernels`. InputError, with an alternative, for every impossible combination; never chooses another
/// device than the requested one. Of several GPUs a process takes the one of its LOCAL_RANK; if it sees a single one (a
/// scheduler has bound it), that one.
DevicePlan plan_device(const Settings& settings, const World& world, const Machine& machine);

/// Writes the plan into the settings, so that all later code and the run_start event have the effective values.
void apply_plan(Settings& settings, const DevicePlan& plan);

/// Returns whether a driver exists, but for older CUDA than the build's.
bool has_old_driver(const Machine& machine);

/// Returns a warning if each process of a node sees a single GPU while others train beside it: NCCL cannot copy directly
/// between GPUs that are hidden from each other. Empty otherwise.
std::string hidden_peers_advice(const World& world, const DevicePlan& plan, const Machine& machine);

/// Returns the driver's version in the text of /proc/driver/nvidia/version; empty if it has none.
std::string driver_version(const std::string& text);

/// Returns a rank's message to the others about its GPU; without a GPU the uuid is empty.
std::string gpu_claim(const std::string& host, const std::string& uuid);

/// InputError that names both ranks if two claims, by rank, name the same GPU of one host, or if one rank has a GPU and another
/// none.
void refuse_shared_gpus(const std::vector<std::string>& claims);

}  // namespace hpcbench::train
