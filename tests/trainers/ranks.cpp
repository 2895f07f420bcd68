#include "trainers/ranks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "ports/free_port.hpp"

extern char** environ;

namespace hpcbench::train {

namespace {

/// Returns this process's environment without ranks, with the given variables.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& given) {
  static const std::vector<std::string> kDropped = {"RANK",         "WORLD_SIZE",          "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
                                                    "HPCBENCH_RUN", "MASTER_ADDR",         "MASTER_PORT", "SLURM_PROCID",
                                                    "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"};
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
    const bool dropped = std::find(kDropped.begin(), kDropped.end(), name) != kDropped.end();
    if (!dropped && !given.count(name)) merged.emplace_back(*entry);
  }
  for (const auto& [name, value] : given) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Process::Process(const std::filesystem::path& folder, const std::string& name, const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& environment)
    : base_((folder / name).string()) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = merged_environment(environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(variables);
  const int out = open((base_ + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int err = open((base_ + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(out);
  close(err);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::send(int signal) const { kill(pid_, signal); }

Ended Process::wait(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  int status = 0;
  bool killed = false;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (!killed && Clock::now() > end) {
      kill(pid_, SIGKILL);
      killed = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = 0;
  Ended ended{std::nullopt, 0, slurp(base_ + ".out"), slurp(base_ + ".err")};
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

std::string program(const std::string& name) { return std::string(HPCBENCH_PROGRAMS) + "/" + name; }

std::string slurp(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string mnist_folder() { return std::string(HPCBENCH_SOURCE_DIR) + "/data/mnist"; }

std::vector<std::string> train_command(const std::vector<std::string>& options) {
  std::vector<std::string> command = {program("hpcbench-train"), "run", "--data", mnist_folder()};
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

int free_port() {
  static std::deque<FreePort> held;  // ranks whose trainings may still begin
  constexpr std::size_t kHeld = 64;
  held.push_back(FreePort::draw().value());
  if (held.size() > kHeld) held.pop_front();
  return held.back().number();
}

std::map<std::string, std::string> rank_environment(int rank, int size, int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(size)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)},
          {"OMP_NUM_THREADS", "1"}};
}

Ended run_alone(const std::filesystem::path& folder, const std::vector<std::string>& command,
                std::map<std::string, std::string> environment) {
  environment.emplace("OMP_NUM_THREADS", "1");
  return Process(folder, "alone", command, environment).wait();
}

std::vector<Ended> run_ranks(const std::filesystem::path& folder, int size, const std::vector<std::string>& command) {
  const int port = free_port();
  std::vector<Process> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back(folder, "rank" + std::to_string(rank), command, rank_environment(rank, size, port));
  std::vector<Ended> ended;
  for (Process& rank : ranks) ended.push_back(rank.wait());
  return ended;
}

}  // namespace hpcbench::train
