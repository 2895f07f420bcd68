#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench::train {

/// How a process ended, and its output.
struct Ended {
  std::optional<int> exit_code;  // nullopt: killed by `signal`, or by the test after the time limit
  int signal = 0;
  std::string out;
  std::string err;
};

/// One process of a test, with its output in files below `folder`. Killed at the end of the scope if it still runs.
class Process {
 public:
  Process(const std::filesystem::path& folder, const std::string& name, const std::vector<std::string>& command,
          const std::map<std::string, std::string>& environment);
  ~Process();
  Process(Process&& other) noexcept : pid_(other.pid_), base_(std::move(other.base_)) { other.pid_ = 0; }
  Process& operator=(Process&&) = delete;
  void send(int signal) const;
  /// Waits for its end; kills it after `limit_s`.
  Ended wait(double limit_s = 240);

 private:
  pid_t pid_ = 0;
  std::string base_;
};

std::string program(const std::string& name);
std::string slurp(const std::filesystem::path& path);
std::string mnist_folder();
/// Returns `hpcbench-train run` on MNIST.
std::vector<std::string> train_command(const std::vector<std::string>& options);
/// Returns a port that was free a moment ago.
int free_port();
/// Returns RANK, WORLD_SIZE, MASTER_ADDR ... of one rank on this machine, with one thread.
std::map<std::string, std::string> rank_environment(int rank, int size, int port);
/// Runs a program alone, without any rank in its environment.
Ended run_alone(const std::filesystem::path& folder, const std::vector<std::string>& command,
                std::map<std::string, std::string> environment = {});
/// Runs `size` ranks of one command and waits for all.
std::vector<Ended> run_ranks(const std::filesystem::path& folder, int size, const std::vector<std::string>& command);

}  // namespace hpcbench::train
