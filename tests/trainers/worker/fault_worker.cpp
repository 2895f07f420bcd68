// usage: trainer_fault_worker (exception | memory) RANK STEP run --strategy ddp ...
// Trains like `hpcbench-train run ...`; in rank RANK, after the backward pass of step STEP, injects the fault.
#include <ATen/ops/empty.h>

#include <cstdio>
#include <cstdlib>

#include "base/options.hpp"
#include "base/signals.hpp"
#include "training/program.hpp"
#include "training/training.hpp"

namespace {

using namespace hpcbench::train;

constexpr std::int64_t kMoreThanThereIs = std::int64_t{1} << 50;

int work(const std::vector<std::string>& arguments) {
  install_signal_flags();
  const World world = read_world(process_environment);
  const Command command = read_command({arguments.begin() + 3, arguments.end()}, process_environment, "");
  const int rank = std::atoi(arguments[1].c_str());
  const std::int64_t fault_step = std::atoll(arguments[2].c_str());
  TrainingHooks hooks;
  hooks.after_backward = [&](std::int64_t step, Strategy&) {
    if (step != fault_step || world.rank != rank) return;
    if (arguments[0] == "exception") throw std::runtime_error("a fault that a trial requested");
    at::empty({kMoreThanThereIs}, at::kByte).fill_(1);
  };
  return run_training(command.settings, world, hooks);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
    return work({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
