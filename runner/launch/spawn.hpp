#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// One process to start.
struct ProcessSpec {
  int rank = 0;
  std::vector<std::string> argv;         // argv[0] is looked for in PATH; never through a shell
  std::vector<std::string> environment;  // KEY=VALUE
  std::string workdir;                   // empty: stay
  std::string stdout_path, stderr_path;  // created anew, unless `append`; empty: ours
  int output_fd = -1, error_fd = -1;     // in place of the paths; -1: none
  bool append = false;                   // they go on where another process ended
  /// Default signal dispositions and no descriptors but 0, 1, 2, whatever ours are.
  bool isolated = false;
};

struct StartedProcess {
  int rank = 0;
  pid_t pid = 0;
  double started_s = 0;  // monotonic
};

/// Why a process could not be started: `cannot start train.py: No such file or directory`.
struct StartError {
  int rank = 0;
  std::string text;
};

struct SpawnResult {
  std::vector<StartedProcess> processes;  // also those whose exec failed: they end with 127
  pid_t group = 0;                        // the one process group of all of them
  std::optional<StartError> error;        // of the lowest rank
};

/// Starts all processes, stdin from /dev/null, and waits until each runs its program. They die (SIGKILL) with this process.
SpawnResult spawn_processes(const std::vector<ProcessSpec>& specs);

}  // namespace hpcbench
