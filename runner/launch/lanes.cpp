#include "launch/lanes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

sigset_t batch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) ::sigaddset(&set, signal);
  return set;
}

}  // namespace

bool Lanes::asked_to_end() {
  sigset_t wishes = batch_signals();
  ::sigdelset(&wishes, SIGCHLD);  // `wait` looks for ends
  const timespec now{};
  for (int signal = ::sigtimedwait(&wishes, nullptr, &now); signal > 0; signal = ::sigtimedwait(&wishes, nullptr, &now))
    take_signal(signal);
  return asked_to_end_;
}

bool Lanes::start(std::size_t work, const std::function<int()>& run) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    // Or it would go on to claim and start a run after the launcher was killed, which Slurm takes for the job's end.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(::getppid() == parent ? run() : EXIT_FAILURE);
  }
  open_.push_back({work, pid});
  if (suspended_) ::kill(pid, SIGTSTP);
  return true;
}

std::vector<Lanes::End> Lanes::wait() {
  const sigset_t set = batch_signals();
  // An end may have been noticed by whoever waited for another process here: look before each wait.
  std::vector<End> ends = reap();
  while (ends.empty() && !open_.empty()) {
    const int signal = ::sigwaitinfo(&set, nullptr);
    if (signal > 0 && signal != SIGCHLD) take_signal(signal);
    ends = reap();
  }
  return ends;
}

std::vector<Lanes::End> Lanes::reap() {
  std::vector<End> ends;
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    const auto lane = std::find_if(open_.begin(), open_.end(), [&](const Lane& each) { return each.pid == pid; });
    if (lane == open_.end()) continue;  // left behind by one that was killed
    ends.push_back({lane->work, WIFSIGNALED(status) ? kSignalExitBase + WTERMSIG(status) : WEXITSTATUS(status)});
    open_.erase(lane);
  }
  return ends;
}

void Lanes::take_signal(int signal) {
  if (signal == SIGTERM || signal == SIGINT) asked_to_end_ = true;
  // Slurm sends these to its own child alone: a lane that does not receive them counts the suspension as its run's time.
  if (signal == SIGTSTP || signal == SIGCONT) suspended_ = signal == SIGTSTP;
  for (const Lane& lane : open_) ::kill(lane.pid, signal);
}

}  // namespace hpcbench
