#include "devices/device_choice.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/task_settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kOrCpu = ", or choose `device: cpu`";

std::string gpus_text(std::size_t count) {
  return concat(count, count == 1 ? " GPU is" : " GPUs are", " visible to this process");
}

/// Returns `13` for `13.0`; 0 for an empty version.
int major_of(const std::string& version) { return version.empty() ? 0 : std::stoi(version); }

/// Returns the oldest driver that supports this major version of CUDA (CUDA's release notes, `minor version compatibility`).
const char* oldest_driver(int cuda_major) { return cuda_major >= 13 ? "580" : "525"; }

void refuse_old_driver(const Machine& machine) {
  if (!has_old_driver(machine)) return;
  const std::string name = machine.driver.empty() ? "" : concat(" ", machine.driver);
  const int build = major_of(machine.cuda_build_version);
  throw InputError(concat("error: the NVIDIA driver", name, " is too old: it can do CUDA ", machine.cuda_driver_version,
                          ", and this hpcbench-train is built with a LibTorch for CUDA ", machine.cuda_build_version,
                          ". Update it to ", oldest_driver(build), " or newer, build with a LibTorch for CUDA ",
                          major_of(machine.cuda_driver_version), kOrCpu));
}

void require_cuda(const Machine& machine) {
  if (!machine.cuda_build) {
    throw InputError(
        concat("error: device cuda: this hpcbench-train is built with a LibTorch for CPUs only. Install one with CUDA "
               "(torch 2.13 for Linux without `+cpu` in its version) and build again with HPCBENCH_TORCH_DIR naming its "
               "folder, the one that holds include/ and lib/",
               kOrCpu));
  }
  if (!machine.gpus.empty()) return;
  const std::string reason = machine.why_no_gpu.empty() ? "" : concat(": ", machine.why_no_gpu);
  const std::string list =
      machine.visible_list.empty() ? "" : concat(" (CUDA_VISIBLE_DEVICES is `", machine.visible_list, "`)");
  throw InputError(concat("error: device cuda: no GPU is visible to this process", list, reason,
                          ". Request one from the scheduler, check the output of nvidia-smi", kOrCpu));
}

/// Returns the number of this process's first GPU.
int first_gpu(const Settings& settings, const World& world, const Machine& machine) {
  const std::size_t gpus = machine.gpus.size();
  const auto devices = static_cast<std::size_t>(device_count(settings));
  if (devices > gpus) {
    throw InputError(concat("error: dp is to train on ", devices, " devices, but ", gpus_text(gpus), ": give `devices` ", gpus,
                            ", request more GPUs", kOrCpu));
  }
  const auto local_rank = static_cast<std::size_t>(world.local_rank);
  if (local_rank < gpus) return world.local_rank;
  if (gpus == 1) return 0;  // a later check, when the ranks have met, ensures that no other rank has it
  throw InputError(concat("error: local rank ", local_rank, " has no GPU: ", gpus_text(gpus),
                          ", and each process needs one of its own. Start ", gpus, " processes a node, request more GPUs",
                          kOrCpu));
}

bool has_gpu_kernels(const Settings& settings) {
  const TaskSettings* const task = find_task_settings(settings.task);
  return task != nullptr && task->has_gpu_kernels(settings);
}

void require_possible_on_gpu(const Settings& settings, const Gpu& gpu) {
  if (settings.kernels == KernelChoice::own && !has_gpu_kernels(settings)) {
    throw InputError(concat(
        "error: the trainer has no kernels of its own for this on a GPU (it has some for bert_squad, in fp32 and bf16 with "
        "attention fused): choose `kernels: torch` (or auto)",
        kOrCpu));
  }
  if (settings.exchange == ExchangeChoice::shared_memory) {
    throw InputError(
        concat("error: exchange shared_memory is for CPUs, GPUs exchange through NCCL: leave `exchange` out", kOrCpu));
  }
  if (settings.precision == Precision::bf16 && !gpu.bf16) {
    throw InputError(
        concat("error: ", gpu.model, " has no bf16 (compute capability 8.0 or newer has it): choose precision fp32", kOrCpu));
  }
}

void require_possible_on_cpu(const Settings& settings) {
  if (settings.tf32.value_or(false))
    throw InputError("error: tf32 is a mode of GPUs, but the device is a CPU: leave `tf32` out, or choose `device: cuda`");
  if (!settings.deterministic.value_or(true)) {
    throw InputError(
        "error: deterministic false is for the operators of GPUs, but the device is a CPU: leave `deterministic` out, or "
        "choose `device: cuda`");
  }
  if (settings.cuda_graphs) {
    throw InputError(
        "error: cuda_graphs is of GPUs, but the device is a CPU: leave `cuda_graphs` out, or choose `device: cuda`");
  }
}

/// Returns whether LibTorch's operators compute the model, on a GPU perhaps with our own kernels beside them.
bool takes_operators(const DevicePlan& plan) {
  return plan.device == DeviceChoice::cuda || plan.kernels == KernelChoice::torch;
}

/// Returns whether a training may draw from the device's generator: only LibTorch's operators do, if the task lets them.
bool can_draw_by_device(const Settings& settings, const DevicePlan& plan) {
  const TaskSettings* const task = find_task_settings(settings.task);
  return takes_operators(plan) && (!task || task->can_draw_on_device(settings));
}

void require_drawing(const Settings& settings, const DevicePlan& plan) {
  if (settings.dropout_bits == DropoutDraw::device && !can_draw_by_device(settings, plan)) {
    throw InputError(
        "error: dropout_bits device needs a GPU or `kernels: torch`, and `attention: fused`: choose these, or leave "
        "`dropout_bits` out");
  }
}

}  // namespace

DevicePlan plan_device(const Settings& settings, const World& world, const Machine& machine) {
  // `auto` does not silently ignore a GPU either that a newer driver would make usable.
  if (settings.device != DeviceChoice::cpu) refuse_old_driver(machine);
  const bool has_gpu = machine.cuda_build && !machine.gpus.empty();
  DevicePlan plan;
  plan.device = settings.device;
  if (plan.device == DeviceChoice::automatic) plan.device = has_gpu ? DeviceChoice::cuda : DeviceChoice::cpu;
  const bool cuda = plan.device == DeviceChoice::cuda;
  plan.kernels = settings.kernels;
  if (plan.kernels == KernelChoice::automatic && !cuda) plan.kernels = KernelChoice::own;
  if (plan.kernels == KernelChoice::automatic && !has_gpu_kernels(settings)) plan.kernels = KernelChoice::torch;
  if (cuda) {
    require_cuda(machine);
    plan.first_gpu = first_gpu(settings, world, machine);
    require_possible_on_gpu(settings, machine.gpus[static_cast<std::size_t>(plan.first_gpu)]);
  } else {
    require_possible_on_cpu(settings);
  }
  const TaskSettings* const task = find_task_settings(settings.task);
  if (task && takes_operators(plan)) task->check_torch_kernels(settings);
  require_drawing(settings, plan);
  return plan;
}

void apply_plan(Settings& settings, const DevicePlan& plan) {
  settings.device = plan.device;
  settings.kernels = plan.kernels;
  const bool gpu_draws = plan.device == DeviceChoice::cuda && can_draw_by_device(settings, plan);
  if (!settings.dropout_bits && gpu_draws) settings.dropout_bits = DropoutDraw::device;
  if (settings.dropout_bits == DropoutDraw::hash) settings.dropout_bits.reset();
}

bool has_old_driver(const Machine& machine) {
  return machine.cuda_build && machine.gpus.empty() && !machine.cuda_driver_version.empty() &&
         major_of(machine.cuda_driver_version) < major_of(machine.cuda_build_version);
}

std::string hidden_peers_advice(const World& world, const DevicePlan& plan, const Machine& machine) {
  if (plan.device != DeviceChoice::cuda || world.local_size <= 1 || machine.gpus.size() != 1) return "";
  return concat(
      "each of the ", world.local_size, " processes of this node sees one GPU only, so NCCL cannot copy directly from ",
      "one to another: let every process see all GPUs of the node (Slurm: --gpus-per-node with --gpu-bind=none in place "
      "of --gpus-per-task); LOCAL_RANK then chooses");
}

std::string driver_version(const std::string& text) {
  // Finds the first word of digits and dots: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Tue ...`.
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return "";
}

std::string gpu_claim(const std::string& host, const std::string& uuid) { return concat(host, " ", uuid); }

namespace {

std::string host_of(const std::string& claim) { return claim.substr(0, claim.rfind(' ')); }
std::string uuid_of(const std::string& claim) { return claim.substr(claim.rfind(' ') + 1); }
bool has_gpu(const std::string& claim) { return !uuid_of(claim).empty(); }

/// With `auto` a rank uses a CPU if it sees no GPU: if only one node does so (because of a broken driver, for example), the
/// others would wait for it in NCCL.
void refuse_mixed_devices(const std::vector<std::string>& claims) {
  const auto without = std::find_if_not(claims.begin(), claims.end(), has_gpu);
  const auto with = std::find_if(claims.begin(), claims.end(), has_gpu);
  if (without == claims.end() || with == claims.end()) return;
  throw SharedInputError(concat("error: rank ", without - claims.begin(), " on ", host_of(*without), " sees no GPU, but rank ",
                                with - claims.begin(), " on ", host_of(*with), " has one: check the output of nvidia-smi there",
                                kOrCpu));
}

}  // namespace

void refuse_shared_gpus(const std::vector<std::string>& claims) {
  refuse_mixed_devices(claims);
  std::map<std::string, std::size_t> owners;
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    if (!has_gpu(claims[rank])) continue;
    const auto [owner, is_new] = owners.emplace(claims[rank], rank);
    if (is_new) continue;
    throw SharedInputError(
        concat("error: ranks ", owner->second, " and ", rank, " are both on GPU ", uuid_of(claims[rank]), " of ",
               host_of(claims[rank]),
               ": each needs one of its own (NCCL would hang). Start as many processes a node as it has GPUs, with "
               "LOCAL_RANK set (Slurm: --gpus-per-node with --gpu-bind=none)"));
  }
}

}  // namespace hpcbench::train
