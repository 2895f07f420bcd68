#include <doctest/doctest.h>

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "devices/device_choice.hpp"
#include "tasks/bert_squad/squad_settings.hpp"

namespace hpcbench::train {

namespace {

Machine machine_with(bool cuda_build, int gpus, bool bf16 = true) {
  Machine machine;
  machine.cuda_build = cuda_build;
  for (int number = 0; number < gpus; ++number)
    machine.gpus.push_back({"Some GPU", concat("GPU-", number), bf16, std::int64_t{1} << 34});
  if (cuda_build && gpus == 0) machine.why_no_gpu = "no CUDA-capable device is detected";
  return machine;
}

World rank_of(int local_rank, int local_size) {
  World world;
  world.rank = world.local_rank = local_rank;
  world.size = world.local_size = local_size;
  return world;
}

/// Returns the result of plan_device(): "cpu own", "cuda:1 torch", or the error.
std::string outcome(const Settings& settings, const World& world, const Machine& machine) {
  try {
    const DevicePlan plan = plan_device(settings, world, machine);
    const std::string number = plan.device == DeviceChoice::cuda ? concat(":", plan.first_gpu) : "";
    return concat(to_string(plan.device), number, " ", to_string(plan.kernels));
  } catch (const InputError& error) {
    return error.what();
  }
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("device and kernels: what every combination comes to") {
  const World alone;
  const struct {
    const char* name;
    Machine machine;
  } machines[] = {{"CPU build", machine_with(false, 0)}, {"no GPU", machine_with(true, 0)}, {"a GPU", machine_with(true, 1)}};
  // By device (auto, cpu, cuda) and kernels (auto, own, torch); "-" is refused. On a GPU, mnist_rnn; bert_squad has its own
  // kernels there.
  const char* const kWanted[3][3][3] = {
      {{"cpu own", "cpu own", "cpu torch"}, {"cpu own", "cpu own", "cpu torch"}, {"-", "-", "-"}},
      {{"cpu own", "cpu own", "cpu torch"}, {"cpu own", "cpu own", "cpu torch"}, {"-", "-", "-"}},
      {{"cuda:0 torch", "-", "cuda:0 torch"}, {"cpu own", "cpu own", "cpu torch"}, {"cuda:0 torch", "-", "cuda:0 torch"}}};
  for (std::size_t machine = 0; machine < 3; ++machine) {
    for (int device = 0; device < 3; ++device) {
      for (int kernels = 0; kernels < 3; ++kernels) {
        for (const char* strategy : {"baseline", "dp", "ddp", "fsdp", "zero1", "zero2", "deepspeed"}) {
          for (const char* task : {"mnist_rnn", "bert_squad"}) {
            Settings settings;
            settings.task = task;
            settings.strategy = strategy;
            settings.device = static_cast<DeviceChoice>(device);
            settings.kernels = static_cast<KernelChoice>(kernels);
            const std::string found = outcome(settings, alone, machines[machine].machine);
            const bool has_own = settings.task == "bert_squad" && machine == 2 && settings.device != DeviceChoice::cpu;
            const bool is_own = has_own && settings.kernels != KernelChoice::torch;
            const std::string own =
                settings.kernels == KernelChoice::own ? "cuda:0 own" : "cuda:0 auto";  // by the model's size
            const std::string wanted = is_own ? own : kWanted[machine][device][kernels];
            CAPTURE(machines[machine].name);
            CAPTURE(device);
            CAPTURE(kernels);
            CAPTURE(strategy);
            if (wanted == "-") {
              CHECK(says(found, "error: "));
              CHECK(says(found, "device: cpu"));  // what to do instead
            } else {
              CHECK(found == wanted);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("an unavailable GPU: the error gives the reason and what to do, and no CPU run replaces it") {
  Settings settings;
  settings.device = DeviceChoice::cuda;
  const std::string build = outcome(settings, {}, machine_with(false, 0));
  CHECK(says(build, "error: device cuda: this hpcbench-train is built with a LibTorch for CPUs only"));
  CHECK(says(build, "HPCBENCH_TORCH_DIR"));
  Machine blind = machine_with(true, 0);
  blind.visible_list = "7";
  const std::string none = outcome(settings, {}, blind);
  CHECK(says(none, "no GPU is visible to this process (CUDA_VISIBLE_DEVICES is `7`): no CUDA-capable device is detected"));
  settings.kernels = KernelChoice::own;
  CHECK(says(outcome(settings, {}, machine_with(true, 1)), "choose `kernels: torch` (or auto)"));
}

TEST_CASE("a driver that is too old is not the same as no GPU, and `auto` does not pass it over") {
  Machine old = machine_with(true, 0);
  old.cuda_build_version = "13.0";
  old.cuda_driver_version = "12.8";
  old.driver = "570.86.15";
  Settings settings;
  for (const DeviceChoice device : {DeviceChoice::automatic, DeviceChoice::cuda}) {
    settings.device = device;
    const std::string text = outcome(settings, {}, old);
    CHECK(says(text, "error: the NVIDIA driver 570.86.15 is too old: it can do CUDA 12.8"));
    CHECK(says(text, "Update it to 580 or newer, build with a LibTorch for CUDA 12, or choose `device: cpu`"));
  }
  settings.device = DeviceChoice::cpu;
  CHECK(outcome(settings, {}, old) == "cpu own");
  // A driver of the same major version runs newer minor ones; without a driver there is no GPU.
  settings.device = DeviceChoice::cuda;
  old.cuda_build_version = "12.9";
  CHECK(says(outcome(settings, {}, old), "no GPU is visible"));
  old.cuda_driver_version = "";
  CHECK(says(outcome(settings, {}, old), "no GPU is visible"));
}

TEST_CASE("processes of a node that see one GPU each: the cost is reported") {
  const DevicePlan cuda{DeviceChoice::cuda, KernelChoice::torch, 0};
  CHECK(says(hidden_peers_advice(rank_of(1, 4), cuda, machine_with(true, 1)), "--gpu-bind=none"));
  CHECK(hidden_peers_advice(rank_of(1, 4), cuda, machine_with(true, 4)).empty());
  CHECK(hidden_peers_advice(rank_of(0, 1), cuda, machine_with(true, 1)).empty());
  CHECK(hidden_peers_advice(rank_of(1, 4), {}, machine_with(true, 1)).empty());
}

TEST_CASE("each process has the GPU of its local rank; one that is bound has the only one that it sees") {
  Settings settings;
  settings.strategy = "ddp";
  CHECK(outcome(settings, rank_of(2, 4), machine_with(true, 4)) == "cuda:2 torch");
  CHECK(outcome(settings, rank_of(3, 4), machine_with(true, 1)) == "cuda:0 torch");
  // auto does not fall back to the CPU if there are GPUs, but too few.
  for (const DeviceChoice device : {DeviceChoice::automatic, DeviceChoice::cuda}) {
    settings.device = device;
    const std::string few = outcome(settings, rank_of(2, 4), machine_with(true, 2));
    CHECK(says(few, "error: local rank 2 has no GPU: 2 GPUs are visible to this process"));
    CHECK(says(few, "Start 2 processes a node"));
  }
}

TEST_CASE("dp has as many GPUs as devices") {
  Settings settings;
  settings.strategy = "dp";
  settings.devices = 2;
  CHECK(outcome(settings, {}, machine_with(true, 2)) == "cuda:0 torch");
  settings.devices = 3;
  CHECK(says(outcome(settings, {}, machine_with(true, 2)),
             "dp is to train on 3 devices, but 2 GPUs are visible to this process"));
  settings.device = DeviceChoice::cpu;
  CHECK(outcome(settings, {}, machine_with(true, 2)) == "cpu own");
}

TEST_CASE("modes that a device or its kernels do not have") {
  Settings settings;
  settings.task = "bert_squad";
  settings.precision = Precision::bf16;
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 auto");
  CHECK(says(outcome(settings, {}, machine_with(true, 1, false)), "error: Some GPU has no bf16"));
  CHECK(outcome(settings, {}, machine_with(false, 0)) == "cpu own");
  settings.own<SquadSettings>().checkpoint_activations = true;
  CHECK(outcome(settings, {}, machine_with(false, 0)) == "cpu own");
  CHECK(says(outcome(settings, {}, machine_with(true, 1)), "checkpoint_activations needs the trainer's own kernels for CPUs"));
  settings.kernels = KernelChoice::own;
  CHECK(says(outcome(settings, {}, machine_with(true, 1)), "checkpoint_activations needs the trainer's own kernels for CPUs"));
  settings.device = DeviceChoice::cpu;
  settings.kernels = KernelChoice::torch;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "checkpoint_activations needs the trainer's own kernels"));
  settings = {};
  settings.exchange = ExchangeChoice::shared_memory;
  CHECK(outcome(settings, {}, machine_with(false, 0)) == "cpu own");
  CHECK(says(outcome(settings, {}, machine_with(true, 1)), "error: exchange shared_memory is for CPUs"));
  settings = {};
  settings.tf32 = true;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "error: tf32 is a mode of GPUs"));
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 torch");
  settings.tf32 = false;
  CHECK(outcome(settings, {}, machine_with(false, 0)) == "cpu own");
  settings.deterministic = false;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "error: deterministic false is for the operators of GPUs"));
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 torch");
  settings = {};
  settings.cuda_graphs = true;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "error: cuda_graphs is of GPUs"));
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 torch");
}

TEST_CASE("kernels of our own on a GPU: for what they compute, and nothing else") {
  Settings settings;
  settings.task = "bert_squad";
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 auto");
  settings.kernels = KernelChoice::own;
  CHECK(outcome(settings, {}, machine_with(true, 1)) == "cuda:0 own");
  settings.kernels = KernelChoice::automatic;
  const auto only_torch = [](const Settings& of) {
    Settings own = of;
    own.kernels = KernelChoice::own;
    return outcome(of, {}, machine_with(true, 1)) == "cuda:0 torch" &&
           says(outcome(own, {}, machine_with(true, 1)), "no kernels of its own for this on a GPU");
  };
  Settings wide = settings;
  wide.precision = Precision::fp64;
  CHECK(only_torch(wide));
  Settings eager = settings;
  eager.own<SquadSettings>().attention = AttentionKind::eager;
  CHECK(only_torch(eager));
}

TEST_CASE("the plan is taken over: a GPU draws dropout, unless a hash is to or attention is the plain form") {
  Settings settings;
  settings.task = "bert_squad";
  apply_plan(settings, {DeviceChoice::cuda, KernelChoice::torch, 0});
  CHECK(settings.device == DeviceChoice::cuda);
  CHECK(settings.kernels == KernelChoice::torch);
  CHECK(settings.own<SquadSettings>().attention == AttentionKind::fused);
  CHECK(settings.dropout_bits == DropoutDraw::device);
  const auto drawn_with = [](AttentionKind attention, std::optional<DropoutDraw> bits, const DevicePlan& plan) {
    Settings told;
    told.task = "bert_squad";
    told.own<SquadSettings>().attention = attention;
    told.dropout_bits = bits;
    apply_plan(told, plan);
    return told.dropout_bits;
  };
  Settings digits;
  digits.task = "mnist_rnn";
  digits.own<SquadSettings>().attention = AttentionKind::eager;  // a setting of BERT's
  apply_plan(digits, {DeviceChoice::cuda, KernelChoice::torch, 0});
  CHECK(digits.dropout_bits == DropoutDraw::device);
  const DevicePlan gpu{DeviceChoice::cuda, KernelChoice::torch, 0}, torch{DeviceChoice::cpu, KernelChoice::torch, 0};
  const DevicePlan own{DeviceChoice::cuda, KernelChoice::own, 0};
  CHECK(drawn_with(AttentionKind::fused, std::nullopt, own) == DropoutDraw::device);
  CHECK(!drawn_with(AttentionKind::fused, DropoutDraw::hash, own));
  CHECK(!drawn_with(AttentionKind::fused, DropoutDraw::hash, gpu));
  CHECK(!drawn_with(AttentionKind::eager, std::nullopt, gpu));
  CHECK(!drawn_with(AttentionKind::fused, std::nullopt, torch));
  CHECK(drawn_with(AttentionKind::fused, DropoutDraw::device, torch) == DropoutDraw::device);
  CHECK(!drawn_with(AttentionKind::fused, std::nullopt, {DeviceChoice::cpu, KernelChoice::own, 0}));
  settings = {};
  settings.task = "bert_squad";
  settings.dropout_bits = DropoutDraw::device;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "error: dropout_bits device needs a GPU or `kernels: torch`"));
  settings.kernels = KernelChoice::torch;
  CHECK(outcome(settings, {}, machine_with(false, 0)) == "cpu torch");
  settings.own<SquadSettings>().attention = AttentionKind::eager;
  CHECK(says(outcome(settings, {}, machine_with(false, 0)), "and `attention: fused`"));
}

TEST_CASE("two ranks on one GPU of one host are refused, and named") {
  CHECK_NOTHROW(refuse_shared_gpus({}));
  CHECK_NOTHROW(refuse_shared_gpus({gpu_claim("a", "GPU-1"), gpu_claim("a", "GPU-2"), gpu_claim("b", "GPU-1")}));
  std::string text;
  try {
    refuse_shared_gpus({gpu_claim("a", "GPU-1"), gpu_claim("b", "GPU-1"), gpu_claim("a", "GPU-3"), gpu_claim("b", "GPU-1")});
  } catch (const InputError& error) {
    text = error.what();
  }
  CHECK(says(text, "error: ranks 1 and 3 are both on GPU GPU-1 of b"));
  CHECK(says(text, "Start as many processes a node as it has GPUs"));
}

TEST_CASE("ranks on GPUs and on CPUs do not train together") {
  CHECK_NOTHROW(refuse_shared_gpus({gpu_claim("a", ""), gpu_claim("a", ""), gpu_claim("b", "")}));
  std::string text;
  try {
    refuse_shared_gpus({gpu_claim("a", "GPU-1"), gpu_claim("b", "")});
  } catch (const InputError& error) {
    text = error.what();
  }
  CHECK(says(text, "error: rank 1 on b sees no GPU, but rank 0 on a has one"));
}

TEST_CASE("the driver's version is found in the kernel module's text") {
  CHECK(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
                       "GCC version:  gcc version 12.2.0\n") == "535.104.05");
  CHECK(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n") == "580.65.06");
  CHECK(driver_version("").empty());
  CHECK(driver_version("nothing here").empty());
}

}  // namespace hpcbench::train
