#include "executors/local/local_executor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/host.hpp"
#include "base/process.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/life.hpp"
#include "submit/job_processes.hpp"
#include "submit/start_job.hpp"

namespace hpcbench {

namespace {

/// How often an adopted job is looked at where the kernel cannot tell of its end.
constexpr double kBlindLookInterval = 0.2;
/// In a batch's folder: what its `launch` processes themselves say.
constexpr const char* kLaunchLog = "launch.log";

void wake_up(int /*signal*/) {}

timespec to_timespec(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

/// What is known of a job that another process started.
struct FoundJob {
  std::optional<bool> alive;               // absent: that cannot be told from here
  std::optional<ProcessIdentity> process;  // if it can be signalled from here
  std::optional<ProcessIdentity> claimed;  // what its claim names, right or wrong
};

FoundJob find_job(const std::string& folder) {
  FoundJob job;
  const std::optional<Claim> claim = read_claim(folder);
  if (claim && claim->revoked) return {false, {}, {}};
  if (claim) job.claimed = claim->process;
  const bool is_here = !job.claimed || job.claimed->host == host_name();
  const std::optional<bool> life = holds_life(folder);
  if (life.value_or(is_here)) job.process = find_launcher(folder, job.claimed);
  if (job.process || life.value_or(false)) {
    job.alive = true;
  } else if (is_here) {
    job.alive = false;
  }
  return job;
}

}  // namespace

LocalExecutor::LocalExecutor(int slots, std::string program) : slots_(slots), program_(std::move(program)) {
  struct sigaction action {};
  action.sa_handler = wake_up;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, &old_action_);
}

LocalExecutor::~LocalExecutor() { ::sigaction(SIGCHLD, &old_action_, nullptr); }

int LocalExecutor::free_slots() { return std::max(0, slots_ - running_); }

int LocalExecutor::output_for(const std::string& batch, const std::string& folder) {
  if (batch == output_batch_ && output_.get() >= 0) return output_.get();
  // FOLDER is results/EXPERIMENT/CONFIG_ID/RUN/ATTEMPT.
  const auto results = std::filesystem::path(folder).parent_path().parent_path().parent_path();
  output_ = open_study_file(results / "batches" / batch / kLaunchLog, O_APPEND);
  output_batch_ = output_.get() >= 0 ? batch : "";
  if (output_.get() < 0) output_ = open_study_file(folder + "/" + kLaunchLog, O_APPEND);
  return output_.get();
}

Submission LocalExecutor::submit(const AttemptSpan& attempts) {
  Submission submission{Submission::Kind::accepted, {}, {}};
  for (std::size_t i = 0; i < attempts.folders.size(); ++i) {
    const std::string& folder = attempts.folders[i];
    const std::string hash = i < attempts.hashes.size() ? attempts.hashes[i] : "";
    const StartedJob started = start_job({.argv = {program_, "launch", folder},
                                          .environment = {{"HPCBENCH_TOKEN", attempts.batch}, {"HPCBENCH_HASH", hash}},
                                          .output_fd = output_for(attempts.batch, folder)});
    if (started.pid < 0) {
      submission.kind = Submission::Kind::refused;
      submission.text = fmt::format("cannot start {}: {}", program_, std::strerror(started.error));
      break;
    }
    Job& job = jobs_[folder];
    job = Job{};
    job.pid = started.pid;
    job.child = true;
    ++running_;
    submission.jobs.push_back(std::to_string(started.pid));
  }
  return submission;
}

void LocalExecutor::refresh(Job& job) {
  if (job.ended) return;
  if (job.child) {
    int status = 0;
    const pid_t reaped = ::waitpid(job.pid, &status, WNOHANG);
    // Whoever else reaped it: it is gone.
    if (reaped == 0 || (reaped < 0 && errno != ECHILD)) return;
    job.text = reaped == job.pid ? describe_wait_status(status) : "";
  } else if (job.ends.get() >= 0) {
    pollfd ends{job.ends.get(), POLLIN, 0};
    if (::poll(&ends, 1, 0) != 1) return;
  } else if (find_job(job.folder).alive.value_or(true)) {
    return;
  }
  job.ended = true;
  --running_;
}

JobStatus LocalExecutor::status(const std::string& folder, const std::string& /*job*/) {
  const auto known = jobs_.find(folder);
  if (known != jobs_.end()) {
    refresh(known->second);
    if (!known->second.ended) return {JobState::running, "running"};
    JobStatus status{JobState::ended, std::move(known->second.text)};
    status.log = kLaunchLog;
    jobs_.erase(known);
    return status;
  }
  const FoundJob job = find_job(folder);
  if (!job.alive) {
    return {JobState::unknown, fmt::format("process {} of host {}", job.claimed->pid, job.claimed->host)};
  }
  if (!*job.alive) return {JobState::ended, ""};
  JobStatus status{JobState::running, "running"};
  if (!job.process) status.out_of_reach = "it runs on this host in another PID namespace (a container)";
  return status;
}

void LocalExecutor::cancel(const std::string& folder, const std::string& /*job*/) {
  const auto known = jobs_.find(folder);
  if (known != jobs_.end() && known->second.child && !known->second.ended) {
    ::kill(known->second.pid, SIGTERM);  // not yet reaped, so the number is still its own
    return;
  }
  const FoundJob job = find_job(folder);
  if (job.process && signal_process(*job.process, SIGTERM)) return;
  if (job.claimed && !job.alive.value_or(true)) end_leftovers(*job.claimed, folder);
}

void LocalExecutor::adopt(const std::string& folder, const std::string& /*job*/) {
  if (jobs_.count(folder) != 0) return;
  const FoundJob found = find_job(folder);
  if (!found.process && !found.alive.value_or(false)) return;
  Job& job = jobs_[folder];
  job.folder = folder;
  if (found.process) job.ends = open_process(*found.process);
  ++running_;
}

void LocalExecutor::wait(double seconds) {
  sigset_t child_only;
  sigset_t before;
  ::sigemptyset(&child_only);
  ::sigaddset(&child_only, SIGCHLD);
  // Blocked from the look to the wait, so that no end falls between them.
  ::sigprocmask(SIG_BLOCK, &child_only, &before);
  bool changed = false;  // a job has ended that was seen running before
  double limit = seconds;
  std::vector<pollfd> ends;
  for (auto& [folder, job] : jobs_) {
    if (job.ended) continue;
    refresh(job);
    changed = changed || job.ended;
    if (job.child) continue;
    if (job.ends.get() >= 0) ends.push_back({job.ends.get(), POLLIN, 0});
    if (job.ends.get() < 0) limit = std::min(limit, kBlindLookInterval);
  }
  if (!changed && limit > 0) {
    sigset_t during = before;
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) ::sigdelset(&during, signal);
    const timespec timeout = to_timespec(limit);
    ::ppoll(ends.data(), ends.size(), &timeout, &during);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace hpcbench
