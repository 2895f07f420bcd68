#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace hpcbench {

/// Tools are programs that answer a question: sbatch, squeue, git, gnuplot. Boost.Process starts only these: a local job
/// (submit/start_job.hpp) outlives this process, and thousands of short ones need vfork; a rank (launch/spawn.hpp) needs
/// wait4's times and memory, a process group with the other ranks, and death with its launcher.
///
/// Boost.Process forks, binds descriptors, and reports a failed exec. The rest is here, for defects of its version 1 (Debian 12
/// has 1.74): changing its `environment` reads past the end of short entries; it does not wait for a child whose exec failed;
/// `wait_for` forks a process and reports a lost status as 0; other descriptors stay open in the child.

/// A call of a tool. It never passes through a shell. The tool inherits descriptors 0, 1 and 2 and no others, blocks no signal
/// and ignores none.
struct ToolCall {
  std::vector<std::string> argv;         // a program without `/` is looked up in PATH
  std::string folder = {};               // working directory; empty: that of this process
  double timeout_s = 60;                 // then the tool and its session are killed; infinite: never
  std::string input = {};                // its standard input; empty: /dev/null
  EnvironmentChanges environment = {};   // changes to this process's environment
  int output_fd = -1;                    // receives standard output and error; -1: they are captured
  bool own_session = true;               // the tool has no terminal and gets none of our signals; false: Ctrl-C ends it as well
  std::size_t most_bytes = 256U << 20U;  // limit of captured output, and of errors; above it the tool is killed
  std::string waiting_word = {};         // once the captured errors contain this, the tool may take `waiting_s` longer
  double waiting_s = 0;
};

/// How a tool ended.
struct ToolResult {
  enum class Kind {
    exited,       // `status` is its exit status
    killed,       // by the signal `status`
    timed_out,    // killed at its time limit
    not_started,  // the program does not exist or cannot be executed; `status` is the errno and `errors` gives the reason
    too_long,     // killed because it wrote more than `most_bytes`; the output is incomplete
    unknown,      // another waiter took its status: how it ended is unknown
  };
  Kind kind = Kind::exited;
  int status = 0;
  std::string output;  // standard output
  std::string errors;  // standard error

  bool succeeded() const { return kind == Kind::exited && status == 0; }
};

/// Runs the tool until it ends or reaches its time limit. A failure of the tool never throws. Its background processes keep
/// running unless the tool was killed.
ToolResult run_tool(const ToolCall& call);

/// Returns one line: `exit status 1: slurm_load_jobs error: ...`.
std::string describe(const ToolResult& result);

/// Describes a status of waitpid: `exit status 3`, `killed by signal 9 (Killed)`.
std::string describe_wait_status(int status);

/// Returns the executable file that a name without `/` means in PATH, or the path itself; nullopt if it does not exist.
std::optional<std::string> find_program(const std::string& name);

}  // namespace hpcbench
