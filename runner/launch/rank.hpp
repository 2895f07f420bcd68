#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace hpcbench {

/// Names Slurm's ProctrackType to the ranks of a step, where it matters to them.
inline constexpr const char* kTrackerVariable = "HPCBENCH_TRACKER";

/// What `hpcbench rank` is asked for.
struct RankRequest {
  std::vector<std::string> command;
  std::optional<int> here;      // so many ranks on this machine; absent: the one rank that srun or mpirun says that we are
  std::optional<int> per_node;  // with `here`: how many of them count as one node; absent: all
  double monitor_s = 0;         // how often the GPUs of the node are looked at; 0: never
  EnvironmentChanges environment = {};  // of the programs, beside torchrun's
};

/// `hpcbench rank -- PROGRAM ARGS`, as srun or mpirun start it: one rank with torchrun's environment. With HPCBENCH_RUN
/// (docs/run-directory.md) its output goes to the files beside run.json, else it is passed through. SIGTERM, SIGINT and
/// SIGUSR1 are passed on to the program, unless the variable above says that Slurm signals it, too. With HPCBENCH_TRY it begins
/// the try, or leaves at once where that is closed, and reports there how the program ended. The exit status: 0 where the
/// program ended with the good exit code of run.json, else the program's (1 for 0), 128 + its signal, or 127 where it could not
/// be started. The same remarks on signals and children as for `launch_attempt` hold.
///
/// Without HPCBENCH_TRY, ranks that are all here are a program in the foreground: SIGHUP ends them, too, and the exit status
/// after a signal is 128 + that signal. With several of them, stderr names the first one that failed.
int run_rank(const RankRequest& request);

/// `launch -n N -- COMMAND`: the same of ranks that are no part of a run, even within one: output is passed through, they meet
/// at a port of their own, and all together use the machine once (OMP_NUM_THREADS, unless it is set).
int launch_ranks(int ranks, const std::vector<std::string>& command);

}  // namespace hpcbench
