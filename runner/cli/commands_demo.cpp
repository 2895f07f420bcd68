#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "cli/command.hpp"

namespace hpcbench {

namespace {

constexpr const char* kDemoStudy = R"yaml(experiment: demo
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

constexpr const char* kDemoProgram = R"python("""Counts primes by trial division, with several processes."""
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
  if (create_exclusively(path, text) || read_file(path) == text) return;
  throw InputError(fmt::format("error: {} is there already, and is another file; name another folder", path.string()));
}

int call_command(std::array<std::string, 4> words) {
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  return run_command_line(static_cast<int>(words.size()), arguments.data());
}

int run_demo(const std::string& folder) {
  make_folders(folder);
  put_demo_file(std::filesystem::path(folder) / "demo.yaml", fmt::format(kDemoStudy, fmt::arg("python", demo_python())));
  put_demo_file(std::filesystem::path(folder) / "work.py", kDemoProgram);
  std::filesystem::current_path(folder);
  say(fmt::format("a study of a small program, in {}: demo.yaml and work.py", std::filesystem::current_path().string()));
  if (const int code = call_command({"hpcbench", "run", "demo.yaml", "--yes"}); code != 0) return code;
  const int code = call_command({"hpcbench", "report", "--format", "markdown"});
  say(fmt::format("Next: cd {}; hpcbench report --methods; hpcbench plot; hpcbench init my.yaml", shell_quote(folder)));
  return code;
}

}  // namespace

void add_demo(commandline::Command& command) {
  const auto folder = std::make_shared<std::string>("hpcbench-demo");
  command.add_option("FOLDER", *folder, "where the study, its program and its results go").shows_initial();
  command.action([folder] { return run_demo(*folder); });
}

}  // namespace hpcbench
