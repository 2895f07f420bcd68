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
  std::string uuid;  // as nvidia-smi prints it; of a MIG instance its own
  bool bf16 = false;
  std::int64_t memory_bytes = 0;
  std::string capability = {};  // `9.0`
  int multiprocessors = 0;
  std::string pci_bus = {};  // `0000:17:00.0`
};

/// What the build and the machine offer to this process.
struct Machine {
  bool cuda_build = false;          // built with a CUDA LibTorch
  std::vector<Gpu> gpus;            // visible to this process, in its numbering
  std::string why_no_gpu;           // the driver's words, where there are none in a build that could use them
  std::string cuda_build_version;   // `13.0`: the CUDA that the build is for
  std::string cuda_driver_version;  // `12.8`: the newest CUDA that the driver can do; empty: no driver
  std::string driver;               // `570.86.15`; empty: unknown
  std::string visible_list;         // CUDA_VISIBLE_DEVICES; empty: not set
};

/// Where a process trains, and with which kernels: `device` and `kernels` without their `auto`, which only stays of kernels on
/// a GPU where the task has some: whether they take the model's size, it says itself.
struct DevicePlan {
  DeviceChoice device = DeviceChoice::cpu;
  KernelChoice kernels = KernelChoice::own;
  int first_gpu = 0;  // cuda: the process has this one, and as many behind it as device_count() says
};

/// What `device` and `kernels` come to. InputError, with what to do instead, for every combination that cannot be had; never
/// another device than the one that was asked for. Of several GPUs a process takes that of its LOCAL_RANK; where it sees a
/// single one (a scheduler has bound it), that one.
DevicePlan plan_device(const Settings& settings, const World& world, const Machine& machine);

/// Takes the plan over into the settings, so that everything behind, and the run_start event, has what is in force.
void apply_plan(Settings& settings, const DevicePlan& plan);

/// Whether there is a driver, but one for older CUDA than the build's.
bool has_old_driver(const Machine& machine);

/// What each process of a node loses where it sees a single GPU while others train beside it: NCCL cannot copy directly
/// between GPUs that are hidden from each other. Empty: nothing.
std::string hidden_peers_advice(const World& world, const DevicePlan& plan, const Machine& machine);

/// The driver's version from the text of /proc/driver/nvidia/version; empty where it has none.
std::string driver_version(const std::string& text);

/// What a rank says of its GPU to the others; without one the uuid is empty.
std::string gpu_claim(const std::string& host, const std::string& uuid);

/// InputError that names both ranks where two claims, by rank, are of one GPU of one host, or of one and of none.
void refuse_shared_gpus(const std::vector<std::string>& claims);

}  // namespace hpcbench::train
