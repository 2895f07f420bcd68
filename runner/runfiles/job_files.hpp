#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "runfiles/process_end.hpp"

namespace hpcbench {

/// As timeout(1) has it.
inline constexpr int kExitTimedOut = 124;
/// The exit code of a process that could not be started, as shells have it.
inline constexpr int kExitCannotStart = 127;
/// What is added to a signal's number for an exit code, as shells have it.
inline constexpr int kSignalExitBase = 128;

/// The members of an entry of `processes` in finished.json: what wait4(2) said of a rank.
void write_process(JsonWriter& json, const ProcessEnd& end);

/// The facts of started.json.
struct StartedFacts {
  ProcessIdentity process;
  std::optional<std::string> job;
  int master_port = 0;
  // In a job of Slurm only:
  std::optional<std::string> node = {};     // the node's name, in place of the host's
  std::optional<std::string> nodes = {};    // the job's list of them
  std::optional<std::string> devices = {};  // its GPUs on this node
};

std::string started_json(const StartedFacts& facts);

/// First line of `stopped` where the program ended in the grace of a preemption, of which Slurm's last word does not tell.
inline constexpr const char* kGaveWay = "PREEMPTED";

/// The facts of finished.json.
struct FinishedFacts {
  std::string host;
  Supervision supervision;
  std::optional<double> time_limit_s;
  std::optional<bool> oom_kill;
  std::optional<std::string> error;                      // why no process could be started
  bool never_began = false;                              // the scheduler could start no rank of it
  std::optional<std::string> bound;                      // side by side with others: what its ranks may use
  std::optional<std::string> shared;                     // and why that was not theirs alone
  std::optional<std::string> tail;                       // of the first failed process's output
  std::vector<std::pair<std::string, long long>> files;  // event files and their sizes in bytes
};

std::string finished_json(const FinishedFacts& facts);

/// `stdout.log`, `stdout.3.log`: rank 0's files have no number.
std::string rank_file(const std::string& stem, int rank, const std::string& extension);

/// Where ranks above 0 write with `output: merged`, each line led by its rank (launch/merged_output.hpp).
inline constexpr const char* kMergedOutput = "ranks.log";

/// The last lines, at most 2,000 bytes of UTF-8, of what a rank wrote to stderr, else to stdout, else among others to
/// ranks.log; absent if it wrote nothing. Of a program that torchrun or accelerate started, the failing rank's traceback in
/// place of the launcher's (launcher_failure.hpp).
std::optional<std::string> output_tail(const std::string& folder, int rank);

/// The event files of `processes` ranks that exist, and their sizes. `run_dir`: as runfiles/layout.hpp has it.
std::vector<std::pair<std::string, long long>> event_file_sizes(const std::string& folder, const std::string& run_dir,
                                                                int processes);

/// The process that decides the outcome: the set-up if the job ended with it, the first failed one, else the first
/// that did not end with 0; null if none.
const ProcessEnd* deciding_process(const Supervision& supervision);

/// The exit code of a job whose processes ended so: 0 if all succeeded, 124 at the time limit, 143 when it was cancelled, else
/// as the process that decides, 128 + its signal.
int exit_status(const Supervision& supervision, int good_exit_code);

}  // namespace hpcbench
