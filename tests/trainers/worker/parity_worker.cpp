// usage: trainer_parity_worker OUTPUT (exact | skip_division | kill_at_N | term_at_N | kill_rank_R_at_call_N) run --strategy
// ddp ... (N: every rank gets SIGKILL, or rank 0 SIGTERM, in the middle of step N; or rank R SIGKILL before its N-th call
// among pwrite, fsync, rename and remove, which complete a checkpoint.) Trains like `hpcbench-train run ...`, and
// writes to OUTPUT.RANK the averaged gradients of the first and of the last step and the state at the end, as lines `NAME
// COUNT`, each followed by COUNT doubles.
#include <ATen/core/Tensor.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "base/options.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "trainers/worker/kill_at_call.hpp"
#include "training/program.hpp"
#include "training/training.hpp"

namespace {

using namespace hpcbench::train;

void write_tensor(std::ofstream& file, const std::string& name, const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
  file << name << ' ' << values.numel() << '\n';
  file.write(static_cast<const char*>(values.const_data_ptr()), static_cast<std::streamsize>(values.numel() * 8));
}

int work(const std::vector<std::string>& arguments) {
  install_signal_flags();
  const World world = read_world(process_environment);
  const Command command = read_command({arguments.begin() + 2, arguments.end()}, process_environment, "");
  std::ofstream file(concat(arguments[0], ".", world.rank), std::ios::binary);
  int killed = -1;
  int call = 0;
  if (std::sscanf(arguments[1].c_str(), "kill_rank_%d_at_call_%d", &killed, &call) == 2 && killed == world.rank)
    kill_at_call(call);
  TrainingHooks hooks;
  hooks.after_backward = [&](std::int64_t step, Strategy& strategy) {
    // ddp's gradients themselves: as if they were not divided by the number of ranks.
    if (arguments[1] == "skip_division") {
      for (const NamedTensor& gradient : strategy.gather_gradients()) gradient.tensor.mul_(world.size);
    }
    if (arguments[1] == concat("kill_at_", step)) raise(SIGKILL);
    if (arguments[1] == concat("term_at_", step) && world.rank == 0) raise(SIGTERM);
    if (step != 1 && step != command.settings.max_steps) return;
    for (const NamedTensor& gradient : strategy.gather_gradients())
      write_tensor(file, concat("gradient/", step, "/", gradient.name), gradient.tensor);
  };
  hooks.at_end = [&](Strategy& strategy) {
    for (const NamedTensor& state : strategy.gather_full_state()) write_tensor(file, "state/" + state.name, state.tensor);
  };
  const int status = run_training(command.settings, world, hooks);
  file.flush();
  return file ? status : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return work({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
