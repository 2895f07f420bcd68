#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/command.hpp"

namespace hpcbench {

namespace {

constexpr double kTrainerStartS = 120;  // LibTorch from a cold disk

constexpr const char* kDigitsStudy = R"yaml(experiment: demo
description: How much faster do two processes learn to read handwritten digits?
trainer: mnist_rnn                 # a small recurrent network
matrix:                            # every combination of these is one configuration
  strategy: [baseline, ddp]
  gpus_per_node: [1, 2]            # processes: one for each gpu, here one for each core
exclude:
  - {{strategy: baseline, gpus_per_node: 2}}
  - {{strategy: ddp, gpus_per_node: 1}}
parameters:                        # the same for all
  data: {data}
  device: cpu                      # also where there are GPUs
  epochs: 3
  global_batch: 256                # the same work, however many processes share it
  lr: 1.0
repeats: 6                         # fewer cannot carry a 95 % interval of a median
resources: {{time: "00:05:00", cpus_per_task: 1}}
baseline: {{strategy: baseline}}     # what speedup is relative to
report: {{metric: train_s, time_unit: s, columns: [strategy, gpus, n, median, interval, speedup, speedup_interval, outcomes]}}
)yaml";

constexpr const char* kProgramStudy = R"yaml(experiment: demo
description: How much faster do two processes find the same primes?
command: [{python}, work.py, "--workers={{{{workers}}}}", "--below={{{{below}}}}"]
launch: once
matrix:                            # every combination of these is one configuration
  workers: [1, 2]
  below: [60000, 120000]
repeats: 6                         # fewer cannot carry a 95 % interval of a median
metrics:                           # read from what the program prints
  - {{name: search_s, file: stdout.log, pattern: 'search took ([0-9.]+) s', unit: s}}
baseline: {{workers: 1}}             # what speedup is relative to
report: {{metric: search_s, columns: [workers, below, n, median, interval, speedup, speedup_interval, outcomes]}}
)yaml";

constexpr const char* kProgram = R"python("""Counts primes by trial division, with several processes."""
import argparse
import multiprocessing
import time


def primes(bounds):
    found = 0
    for number in range(*bounds):
        divisor = 2
        while divisor * divisor <= number and number % divisor:
            divisor += 1
        found += number > 1 and divisor * divisor > number
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--below", type=int, default=100000)
    options = parser.parse_args()
    size = options.below // 64 + 1
    parts = [(low, min(low + size, options.below)) for low in range(0, options.below, size)]
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        begin = time.monotonic()
        found = sum(pool.imap_unordered(primes, parts))
        print(f"search took {time.monotonic() - begin:.4f} s")
    print(f"{found} primes below {options.below}")
)python";

/// That of the environment which the program is installed in, else the one on PATH.
std::string demo_python() {
  const std::filesystem::path beside = std::filesystem::path(program_folder()) / "python3";
  std::error_code error;
  return std::filesystem::exists(beside, error) ? json_quote(beside.string()) : "python3";
}

/// A second call finds its own files, and changes nothing of somebody else's.
void put_demo_file(const std::filesystem::path& path, const std::string& text) {
  if (create_exclusively(path, text, kUserFile) || read_file(path) == text) return;
  throw InputError(fmt::format("error: {} is there already, and is another file; name another folder", path.string()));
}

int call_command(std::array<std::string, 4> words) {
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  return run_command_line(static_cast<int>(words.size()), arguments.data());
}

/// The folder of the digits, which comes with the trainer: in a build tree, or installed.
std::optional<std::string> find_digits() {
  const std::filesystem::path program = program_folder();
  std::error_code error;
  for (const char* place : {"../data/mnist", "../share/hpcbench/data/mnist"}) {
    const std::filesystem::path folder = std::filesystem::weakly_canonical(program / place, error);
    if (std::filesystem::exists(folder / "t10k-images-idx3-ubyte.gz", error)) return folder.string();
  }
  return std::nullopt;
}

/// The folder of the digits, where there is a trainer to learn them. Says why a trainer that is there cannot.
std::optional<std::string> digits_to_learn() {
  const std::string trainer = trainer_program();
  std::error_code error;
  if (!std::filesystem::exists(trainer, error)) return std::nullopt;
  const std::optional<std::string> digits = find_digits();
  const ToolResult started = run_tool({.argv = {trainer, "--version"}, .timeout_s = kTrainerStartS});
  if (started.succeeded() && digits) return digits;
  const std::string why = started.succeeded() ? "the digits did not come with " + trainer
                                              : fmt::format("{} does not start: {}", trainer, describe(started));
  say(why + ": a program in Python instead of digits");
  return std::nullopt;
}

/// Writes the study's files, and says which, and what it is about.
std::string put_demo(const std::filesystem::path& folder, const std::optional<std::string>& digits) {
  if (digits) {
    put_demo_file(folder / "demo.yaml", fmt::format(kDigitsStudy, fmt::arg("data", json_quote(*digits))));
    return "demo.yaml, a study of the built-in trainer, which learns to read digits";
  }
  put_demo_file(folder / "demo.yaml", fmt::format(kProgramStudy, fmt::arg("python", demo_python())));
  put_demo_file(folder / "work.py", kProgram);
  return "demo.yaml and work.py, a study of a small program";
}

int run_demo(const std::string& folder, bool of_program) {
  make_folders(folder, kUserFolder);
  const std::string about = put_demo(folder, of_program ? std::nullopt : digits_to_learn());
  std::filesystem::current_path(folder);
  say(fmt::format("in {}: {}", std::filesystem::current_path().string(), about));
  if (const int code = call_command({"hpcbench", "run", "demo.yaml", "--yes"}); code != 0) return code;
  const int code = call_command({"hpcbench", "report", "--format", "markdown"});
  say(fmt::format("Next: cd {}; hpcbench report --methods; hpcbench plot; hpcbench init my.yaml", shell_quote(folder)));
  return code;
}

}  // namespace

void add_demo(commandline::Command& command) {
  const auto folder = std::make_shared<std::string>("hpcbench-demo");
  const auto of_program = std::make_shared<bool>(false);
  command.add_option("FOLDER", *folder, "where the study and its results go");
  command.add_flag("--program", *of_program, "of a small program in Python, also where there is a trainer");
  command.action([=] { return run_demo(*folder, *of_program); });
}

}  // namespace hpcbench
