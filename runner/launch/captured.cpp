#include "launch/captured.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/files.hpp"
#include "base/host.hpp"
#include "launch/rank_environment.hpp"
#include "launch/spawn.hpp"

namespace hpcbench {

namespace {

/// The messages are English ones, and nothing of the user's changes what Slurm's tools answer.
std::vector<std::string> tool_environment() {
  std::vector<std::string> kept;
  for (std::string& entry : changed_environment({{"LC_ALL", "C.UTF-8"}})) {
    if (!entry.starts_with("SQUEUE_") && !entry.starts_with("SCANCEL_") && !entry.starts_with("SCONTROL_"))
      kept.push_back(std::move(entry));
  }
  return kept;
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& argv, double timeout_s) {
  constexpr long kPauseNs = 2'000'000;
  // A file in memory, which spawn opens by its name: unlike a pipe it cannot fill up while nobody reads.
  const Descriptor file(::memfd_create("output", MFD_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  ProcessSpec spec;
  spec.argv = argv;
  spec.environment = tool_environment();
  spec.stdout_path = fmt::format("/proc/self/fd/{}", file.get());
  spec.stderr_path = "/dev/null";
  spec.isolated = true;
  const SpawnResult spawned = spawn_processes({spec});
  if (spawned.processes.empty()) return std::nullopt;
  const pid_t pid = spawned.processes.front().pid;
  const double end_s = monotonic_s() + timeout_s;
  int status = 0;
  bool killed = false;
  while (true) {
    const pid_t ended = ::waitpid(pid, &status, killed ? 0 : WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) break;
    if (ended == 0 && monotonic_s() >= end_s) killed = ::kill(-pid, SIGKILL) == 0 || ::kill(pid, SIGKILL) == 0;
    const timespec pause{0, kPauseNs};
    if (!killed) ::nanosleep(&pause, nullptr);
  }
  if (killed || spawned.error || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return read_file(spec.stdout_path);
}

}  // namespace hpcbench
