#include "launch/supervisor.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <set>

#include "base/container_monitor.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "launch/descendants.hpp"

namespace hpcbench {

namespace {

constexpr double kAskInterval = 1;  // seconds between looks whether a person wants the end
constexpr double kForeverS = std::numeric_limits<double>::infinity();
constexpr double kShortestLeftS = 1;     // until a limit: schedulers count whole seconds
constexpr double kKillAgainS = 0.1;      // a process may have started another one while it was killed
constexpr double kEndAgainS = 1.0;       // where that is a call of a scheduler's tool
constexpr double kLeftoverGraceS = 1.0;  // what a program leaves behind should have gone with it
constexpr double kGiveUpS = 10.0;        // a leftover that SIGKILL does not end hangs in the kernel

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Whether the program that a relay starts has begun: before that, only the relay can be told.
bool has_program(pid_t relay) {
  const std::vector<Descendant> below = find_descendants(relay);
  return std::any_of(below.begin(), below.end(),
                     [](const Descendant& process) { return container_part(process.pid) == ContainerPart::none; });
}

/// Processes that a signal must not reach. Podman passes all signals but SIGKILL on to its program, and apptainer does, too:
/// programs are to hear them once.
std::set<pid_t> spared_by(int signal, const std::vector<Descendant>& processes) {
  std::set<pid_t> spared;
  for (const Descendant& process : processes) {
    const ContainerPart part = container_part(process.pid);
    if (part == ContainerPart::keeper) spared.insert(process.pid);
    if (signal == SIGKILL) continue;
    if (part == ContainerPart::keeper) {
      for (const Descendant& below : find_descendants(process.pid)) spared.insert(below.pid);
    }
    if (part == ContainerPart::image || (part == ContainerPart::relay && has_program(process.pid))) spared.insert(process.pid);
  }
  return spared;
}

}  // namespace

Supervisor::Supervisor(Place place) : place_(place) {
  const bool foreground = place_ == Place::foreground;
  ::sigemptyset(&wanted_);
  // An ignored SIGCHLD would make the kernel reap our processes, and their usage would be lost.
  ::signal(SIGCHLD, SIG_DFL);
  ::sigaddset(&wanted_, SIGCHLD);
  ::sigaddset(&wanted_, SIGTERM);
  if (!foreground || !is_ignored(SIGINT)) ::sigaddset(&wanted_, SIGINT);
  if (foreground && !is_ignored(SIGHUP)) ::sigaddset(&wanted_, SIGHUP);
  if (place_ == Place::step || place_ == Place::batch) ::sigaddset(&wanted_, SIGUSR1);
  if (place_ == Place::batch) {
    for (const int signal : {SIGUSR2, SIGTSTP, SIGCONT}) ::sigaddset(&wanted_, signal);
  }
  ::sigprocmask(SIG_BLOCK, &wanted_, nullptr);
  // What a program leaves behind becomes our child when its parent ends.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervision Supervisor::run(const std::vector<ProcessSpec>& specs, const SupervisionRules& rules,
                            std::optional<StartError>& error) {
  rules_ = rules;
  ranks_.clear();
  result_.processes.clear();
  result_.first_failed_rank.reset();
  start(specs, error);
  wait_for_ranks();
  result_.wall_s = monotonic_s() - *begin_s_;
  end_leftovers();
  ending_ = ending_ && (result_.timed_out || result_.cancelled_by);  // not by what was left behind
  for (const Tracked& tracked : ranks_) result_.processes.push_back(*tracked.end);
  return result_;
}

void Supervisor::start(const std::vector<ProcessSpec>& specs, std::optional<StartError>& error) {
  if (!begin_s_) begin_s_ = monotonic_s();
  const SpawnResult spawned = spawn_processes(specs);
  error = spawned.error;
  group_ = spawned.group;
  for (const StartedProcess& process : spawned.processes) ranks_.push_back({process, std::nullopt});
  running_ = static_cast<int>(ranks_.size());
  if (error) {
    result_.first_failed_rank = error->rank;
    if (running_ > 0) begin_ending(SIGTERM);
  }
}

/// Schedulers do not count suspended time either. While the job is suspended, which we see before we are stopped, too, and when
/// we go on until SIGCONT is taken, nothing is over.
double Supervisor::deadline_s() const {
  if (suspended_at_s_ || !rules_.time_limit_s) return kForeverS;
  return *begin_s_ + *rules_.time_limit_s + result_.suspended_s.value_or(0);
}

void Supervisor::wait_for_ranks() {
  while (running_ > 0) {
    if (monotonic_s() >= warning_at_s()) warn();
    const bool can_be_asked = is_asked_to_end_ && !ending_;
    if (can_be_asked && is_asked_to_end_()) {
      result_.cancelled_by = SIGTERM;
      begin_ending(SIGTERM);
    }
    const auto next_end_s = [&] { return ending_ ? *kill_at_s_ : std::min(deadline_s(), limit_at_s_); };
    if (monotonic_s() >= next_end_s()) {
      if (ending_) {
        end_ranks(SIGKILL);
        kill_at_s_ = monotonic_s() + (rules_.end ? kEndAgainS : kKillAgainS);
      } else if (monotonic_s() >= deadline_s() || !has_time_left()) {
        result_.timed_out = true;
        begin_ending(SIGTERM);
      }
    }
    const double next_s = can_be_asked ? std::min(next_end_s(), monotonic_s() + kAskInterval) : next_end_s();
    pid_t child = 0;
    const int signal = next_signal(std::min(next_s, warning_at_s()) - monotonic_s(), child);
    take_signal(signal, child);
    if (running_ > 0 && result_.first_failed_rank && !ending_) begin_ending(SIGTERM);
  }
  take_resumption();
}

/// Whether what runs may go on for now, though a scheduler has said that its limit is near.
bool Supervisor::has_time_left() {
  const double left_s = time_left_s_ ? time_left_s_() : 0;
  limit_at_s_ = monotonic_s() + left_s;
  return left_s > kShortestLeftS;
}

/// When the processes are told that their time is nearly over; never where they were, or nobody wants that.
double Supervisor::warning_at_s() const {
  if (ending_ || result_.warned || rules_.warn_s.value_or(0) <= 0) return kForeverS;
  return deadline_s() - *rules_.warn_s;
}

void Supervisor::warn() {
  result_.warned = true;
  if (rules_.warn) {
    rules_.warn();
  } else {
    pass_on(SIGUSR1);
  }
}

/// 0 if the time was over. `child` is the process that ended first since the last SIGCHLD.
int Supervisor::next_signal(double timeout_s, pid_t& child) {
  timespec timeout{};
  // An hour more or less: sigtimedwait has no "for ever" that also ends with a clock of ours.
  const double wait_s = std::clamp(timeout_s, 0.0, 3600.0);
  timeout.tv_sec = static_cast<time_t>(wait_s);
  timeout.tv_nsec = static_cast<long>((wait_s - std::floor(wait_s)) * 1e9);
  siginfo_t info{};
  const int signal = ::sigtimedwait(&wanted_, &info, &timeout);
  child = signal == SIGCHLD ? info.si_pid : 0;
  sender_ = signal > 0 && signal != SIGCHLD ? info.si_pid : 0;
  return std::max(signal, 0);
}

/// Of SIGTSTP and SIGCONT, which tell nobody to end. Slurm also sends SIGCONT to jobs that it never suspended, before it ends
/// them.
bool Supervisor::take_suspension(int signal) {
  if (signal == SIGTSTP) {
    suspended_at_s_ = suspended_at_s_.value_or(monotonic_s());
  } else if (signal == SIGCONT && suspended_at_s_) {
    result_.suspended_s = result_.suspended_s.value_or(0) + monotonic_s() - *suspended_at_s_;
    suspended_at_s_.reset();
  }
  return signal == SIGTSTP || signal == SIGCONT;
}

/// Of signals that wait, SIGCHLD is taken before the SIGCONT that came with it, where a program went on and ended before us.
void Supervisor::take_resumption() {
  sigset_t resumption;
  ::sigemptyset(&resumption);
  ::sigaddset(&resumption, SIGCONT);
  const timespec now{};
  if (suspended_at_s_ && ::sigtimedwait(&resumption, nullptr, &now) == SIGCONT) take_suspension(SIGCONT);
}

void Supervisor::take_signal(int signal, pid_t child) {
  if (signal == 0 || take_suspension(signal)) return;
  if (signal != SIGCHLD) {
    // Ends that came before the wish to end count: fetch a SIGCHLD that waits, for its pid.
    sigset_t only_children;
    ::sigemptyset(&only_children);
    ::sigaddset(&only_children, SIGCHLD);
    siginfo_t info{};
    const timespec now{};
    if (::sigtimedwait(&only_children, &info, &now) == SIGCHLD) child = info.si_pid;
  }
  // Equal signals are merged, and the first one's pid stays: with it we know who failed first of several.
  if (child > 0) reap_one(child);
  reap_all();
  if (signal == SIGUSR2) {
    if (rules_.was_asked && rules_.was_asked()) note_wish(SIGTERM);
    return;
  }
  const bool we_know = rules_.warn_s && rules_.time_limit_s;
  if (signal == SIGUSR1 && place_ == Place::batch && we_know) {
    if (running_ > 0 && warning_at_s() < kForeverS) warn();
    return;
  }
  if (signal != SIGCHLD && place_ == Place::batch) return note_wish(signal);
  if (signal != SIGCHLD && all_were_told() && (signal == SIGUSR1 || ending_)) return;
  if (signal == SIGUSR1) return pass_on(signal);
  if (signal != SIGCHLD && ending_ && place_ == Place::step) return end_ranks(signal);
  if (signal != SIGCHLD && running_ > 0 && !ending_ && !result_.first_failed_rank) {
    result_.cancelled_by = signal;
    begin_ending(place_ == Place::background ? SIGTERM : signal);
  }
}

/// A process that has ended keeps its name until it is reaped: what a shell became by `exec` tells who ended.
void Supervisor::note_program(pid_t pid) {
  siginfo_t info{};
  const bool any = pid < 0;
  if (::waitid(any ? P_ALL : P_PID, any ? 0 : static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (ranks_.empty() || info.si_pid == 0 || info.si_pid != ranks_.front().process.pid) return;
  result_.program = trim(process_text(info.si_pid, "comm"));
}

bool Supervisor::reap_one(pid_t pid) {
  if (rules_.end) note_program(pid);
  int status = 0;
  rusage usage{};
  const pid_t ended = ::wait4(pid, &status, WNOHANG, &usage);
  if (ended <= 0) return false;
  for (Tracked& tracked : ranks_) {
    if (tracked.process.pid == ended && !tracked.end) note_end(tracked, status, usage);
  }
  return true;
}

/// True if children are left that still run.
bool Supervisor::reap_all() {
  errno = 0;
  while (reap_one(-1)) errno = 0;
  return errno != ECHILD;
}

void Supervisor::note_end(Tracked& tracked, int status, const rusage& usage) {
  constexpr long long kBytesPerKib = 1024;
  ProcessEnd end;
  end.rank = tracked.process.rank;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  end.wall_s = monotonic_s() - tracked.process.started_s;
  end.user_s = seconds(usage.ru_utime);
  end.sys_s = seconds(usage.ru_stime);
  end.max_rss_bytes = usage.ru_maxrss * kBytesPerKib;
  --running_;
  const bool saved = rules_.saved_exit_code && end.exit_code == rules_.saved_exit_code;
  const bool failed = end.exit_code != rules_.good_exit_code && !saved;
  // Those that we end are no failures of their own.
  if (failed && !ending_ && !result_.first_failed_rank) result_.first_failed_rank = end.rank;
  tracked.end = end;
}

/// A program that hears the same wish twice may be hit by the second one while it leaves, when its handler is gone.
bool Supervisor::all_were_told() const {
  if (rules_.tells_all.empty() || sender_ <= 0) return false;
  return trim(process_text(sender_, "comm")) == rules_.tells_all;
}

void Supervisor::begin_ending(int signal) {
  ending_ = true;
  kill_at_s_ = monotonic_s() + rules_.grace_s;
  if (!all_were_told()) end_ranks(signal);
}

void Supervisor::end_ranks(int signal) {
  if (rules_.end) {
    rules_.end(signal);
  } else {
    signal_processes(signal);
  }
}

void Supervisor::signal_processes(int signal) {
  bool group_exists = false;
  for (const Tracked& tracked : ranks_) {
    // Not reaped yet, so the pid, and with it the group, is still ours.
    if (!tracked.end && ::getpgid(tracked.process.pid) == group_) group_exists = true;
  }
  const std::vector<Descendant> processes = find_descendants();
  const std::set<pid_t> spared = spared_by(signal, processes);
  const bool all_of_group = std::none_of(processes.begin(), processes.end(), [&](const Descendant& process) {
    return process.group == group_ && spared.count(process.pid) > 0;
  });
  const bool group_signalled = group_exists && all_of_group && ::kill(-group_, signal) == 0;
  for (const Descendant& process : processes) {
    const bool reached = group_signalled && process.group == group_;
    if (!reached && spared.count(process.pid) == 0) ::kill(process.pid, signal);
  }
}

/// In a batch job each wish is remembered, whichever comes first: SIGTERM may follow SIGUSR1.
void Supervisor::note_wish(int signal) {
  if (signal == SIGUSR1) {
    if (has_time_left()) return;
    result_.timed_out = true;
  } else {
    result_.cancelled_by = result_.cancelled_by.value_or(signal);
  }
  if (running_ > 0 && !ending_) begin_ending(SIGTERM);
}

const Supervision& Supervisor::await_wish(double seconds) {
  const double end_s = monotonic_s() + seconds;
  do {
    pid_t child = 0;
    take_signal(next_signal(end_s - monotonic_s(), child), child);
  } while (!result_.timed_out && !result_.cancelled_by && monotonic_s() < end_s);
  return result_;
}

void Supervisor::pass_on(int signal) {
  for (const Tracked& tracked : ranks_) {
    if (!tracked.end) ::kill(tracked.process.pid, signal);
  }
}

void Supervisor::end_leftovers() {
  if (!reap_all()) return;  // the usual case: nobody is left, and /proc need not be walked
  if (!ending_ || !std::isfinite(*kill_at_s_)) kill_at_s_ = monotonic_s() + std::min(rules_.grace_s, kLeftoverGraceS);
  // A SIGINT that was passed on is ignored by what a shell started in the background.
  const bool passed_on = place_ != Place::background && result_.cancelled_by.value_or(SIGTERM) != SIGTERM;
  if (!ending_ || passed_on) signal_processes(SIGTERM);
  ending_ = true;
  const double give_up_s = std::max(*kill_at_s_, monotonic_s()) + kGiveUpS;
  while (reap_all() && monotonic_s() < give_up_s) {
    if (monotonic_s() >= *kill_at_s_) {
      signal_processes(SIGKILL);
      kill_at_s_ = monotonic_s() + kKillAgainS;
    }
    pid_t child = 0;
    next_signal(*kill_at_s_ - monotonic_s(), child);
  }
}

}  // namespace hpcbench
