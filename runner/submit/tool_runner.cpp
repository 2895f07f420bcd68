#include "submit/tool_runner.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/files.hpp"
#include "base/host.hpp"
#include "submit/start_job.hpp"

namespace hpcbench {

namespace {

constexpr long kShortestPauseNs = 500'000;  // between looks whether a tool has ended: Slurm's take some milliseconds
constexpr long kLongestPauseNs = 20'000'000;
constexpr std::size_t kMostToolBytes = 256U << 20U;

/// A file in memory that a tool writes to: unlike a pipe it cannot fill up while nobody reads.
Descriptor memory_file(const char* name) { return Descriptor(::memfd_create(name, MFD_CLOEXEC)); }

std::string content_of(const Descriptor& file) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (text.size() < kMostToolBytes) {
    const ssize_t count = ::pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// Waits for the process, at most until `end_s`; then kills it and all of its session. True if its time was over.
bool wait_for_tool(int pid, double end_s, int& status) {
  long pause_ns = kShortestPauseNs;
  bool killed = false;
  while (true) {
    const pid_t reaped = ::waitpid(pid, &status, killed ? 0 : WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return killed;
    if (reaped != 0) continue;
    if (monotonic_s() >= end_s) {
      ::kill(-pid, SIGKILL);
      killed = true;
      continue;
    }
    const timespec pause{0, pause_ns};
    ::nanosleep(&pause, nullptr);
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
}

}  // namespace

bool is_kept_for_tools(std::string_view variable) {
  constexpr std::array<std::string_view, 7> kForeign = {"SBATCH_",   "SQUEUE_", "SACCT_", "SCANCEL_",
                                                        "SCONTROL_", "SINFO_",  "SLURM_"};
  if (variable == "SLURM_CONF" || variable == "SLURM_CLUSTERS") return true;
  return std::none_of(kForeign.begin(), kForeign.end(), [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

ToolResult ProcessToolRunner::run(const ToolCall& call) {
  ToolResult result;
  const Descriptor output = memory_file("output");
  const Descriptor errors = memory_file("errors");
  if (output.get() < 0 || errors.get() < 0) {
    return {ToolResult::Kind::not_started, errno, {}, fmt::format("no file in memory: {}", std::strerror(errno))};
  }
  // The messages that are told apart are English ones.
  const StartedJob started = start_job({.argv = call.argv,
                                        .environment = {{"LC_ALL", "C.UTF-8"}, {"SLURM_TIME_FORMAT", "standard"}},
                                        .folder = call.folder,
                                        .output_fd = output.get(),
                                        .error_fd = errors.get(),
                                        .keeps = is_kept_for_tools});
  if (started.pid < 0) {
    return {ToolResult::Kind::not_started,
            started.error,
            {},
            fmt::format("{}: {}", call.argv.front(), std::strerror(started.error))};
  }
  int status = 0;
  const bool late = wait_for_tool(started.pid, monotonic_s() + call.timeout_s, status);
  result.output = content_of(output);
  result.errors = content_of(errors);
  if (late) {
    result.kind = ToolResult::Kind::timed_out;
  } else if (WIFSIGNALED(status)) {
    result.kind = ToolResult::Kind::killed;
    result.status = WTERMSIG(status);
  } else {
    result.status = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace hpcbench
