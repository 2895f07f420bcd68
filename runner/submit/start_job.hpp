#pragma once

#include <string>
#include <vector>

#include "base/environment.hpp"

namespace hpcbench {

/// A local job to start: `hpcbench launch`, in a session of its own, SIGHUP ignored, so that it survives us and our
/// terminal. It gets /dev/null as standard input, no descriptor of ours beside its output, and no blocked signals.
///
/// It is no tool (base/process.hpp): we do not wait for its answer, and a study of short runs starts thousands of them.
struct JobStart {
  std::vector<std::string> argv;   // a program without `/` is looked up in PATH
  EnvironmentChanges environment;  // of ours
  int output_fd = -1;              // standard output and error; -1: /dev/null
};

struct StartedJob {
  int pid = -1;  // -1: nothing was started, and `error` is the errno
  int error = 0;
};

/// Starts it by vfork: our size does not matter, and a program that cannot be executed is known at once.
StartedJob start_job(const JobStart& start);

}  // namespace hpcbench
