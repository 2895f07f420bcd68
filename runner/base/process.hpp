#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace hpcbench {

/// Tools are programs that answer a question: sbatch, squeue, git, gnuplot. Boost.Process starts them, and only them: a local
/// job (submit/start_job.hpp) outlives us, and thousands of short ones need vfork; a rank (launch/spawn.hpp) needs wait4's
/// times and memory, a process group with the other ranks, and death with its launcher. Boost.Process offers none of these.
///
/// Boost.Process forks, binds descriptors, and reports a failed exec. The rest is ours, for defects of its version 1 (Debian 12
/// has 1.74): changing its `environment` reads past the end of short entries; it does not wait for a child whose exec failed;
/// `wait_for` forks a process to keep the time and reports a lost status as 0; other descriptors stay open in the child.

/// A call of a tool. It never passes through a shell. The tool inherits descriptors 0, 1 and 2 and no others, blocks no signal
/// and ignores none.
struct ToolCall {
  std::vector<std::string> argv;         // a program without `/` is looked up in PATH
  std::string folder = {};               // working directory; empty: ours
  double timeout_s = 60;                 // then it is killed with all of its session; infinite: never
  std::string input = {};                // its standard input; empty: /dev/null
  EnvironmentChanges environment = {};   // of ours
  int output_fd = -1;                    // standard output and error go there, not to us; -1: they are captured
  bool own_session = true;               // no terminal and no signal for us reaches it; false: Ctrl-C ends it as well
  std::size_t most_bytes = 256U << 20U;  // of captured output, and of errors; beyond, it is killed
  std::string waiting_word = {};         // once its captured errors have this, it may take `waiting_s` longer
  double waiting_s = 0;
};

/// How a tool ended.
struct ToolResult {
  enum class Kind {
    exited,       // `status` is its exit status
    killed,       // by the signal `status`
    timed_out,    // we killed it
    not_started,  // there is no such program, or it cannot be executed; `status` is the errno and `errors` says why
    too_long,     // it wrote more than `most_bytes`, and we killed it; the output is incomplete
    unknown,      // another waiter took its status: its end is unknown
  };
  Kind kind = Kind::exited;
  int status = 0;
  std::string output;  // standard output
  std::string errors;  // standard error

  bool succeeded() const { return kind == Kind::exited && status == 0; }
};

/// Runs it to its end, or to its time limit. Never throws for what the tool does. What it left running in the background
/// goes on, unless it was killed.
ToolResult run_tool(const ToolCall& call);

/// `exit status 1: slurm_load_jobs error: ...`, in one line.
std::string describe(const ToolResult& result);

/// `exit status 3`, `killed by signal 9 (Killed)`, of what waitpid gave.
std::string describe_wait_status(int status);

/// The executable file that a name without `/` stands for in PATH, or the path itself; absent if there is none.
std::optional<std::string> find_program(const std::string& name);

}  // namespace hpcbench
