#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// A process to start. It gets /dev/null as standard input, no descriptor of ours beside its output, and no blocked signals.
struct JobStart {
  std::vector<std::string> argv;                                 // a program without `/` is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours, or instead
  std::string folder;                                            // working directory; empty: ours
  int output_fd = -1;                                            // standard output and error; -1: /dev/null
  int error_fd = -1;                                             // standard error alone; -1: where the output goes
  bool own_session = true;                                       // setsid, and SIGHUP ignored: it survives us and our terminal
  bool (*keeps)(std::string_view variable) = nullptr;            // which variables of ours it sees; null: all
};

struct StartedJob {
  int pid = -1;  // -1: nothing was started, and `error` is the errno
  int error = 0;
};

/// Starts it by vfork: our size does not matter, and a program that cannot be executed is known at once.
StartedJob start_job(const JobStart& start);

/// `exit status 3`, `killed by signal 9 (Killed)`.
std::string describe_wait_status(int status);

}  // namespace hpcbench
