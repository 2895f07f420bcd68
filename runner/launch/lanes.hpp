#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <functional>
#include <vector>

namespace hpcbench {

/// Work in child processes, several at a time. This process starts no threads, holds the signals of a batch job
/// (Supervisor::Place::batch) before, and passes on what comes. No child outlives it.
class Lanes {
 public:
  struct End {
    std::size_t work = 0;
    int status = 0;  // exit code; 128 + N after a death by signal N
  };

  explicit Lanes(std::size_t width) : width_(width) {}

  bool full() const { return open_.size() >= width_; }
  bool empty() const { return open_.empty(); }
  /// Whether this process was asked to end, up to now.
  bool asked_to_end();

  /// `run` in a new process, of which it returns the exit code. False: no process could be started.
  bool start(std::size_t work, const std::function<int()>& run);
  /// Waits until some have ended; none are left to wait for where `empty()`.
  std::vector<End> wait();

 private:
  struct Lane {
    std::size_t work = 0;
    pid_t pid = 0;
  };

  std::vector<End> reap();
  void take_signal(int signal);

  std::size_t width_;
  std::vector<Lane> open_;
  bool asked_to_end_ = false;
  bool suspended_ = false;  // between SIGTSTP and SIGCONT
};

}  // namespace hpcbench
