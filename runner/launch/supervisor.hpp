#pragma once

#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/spawn.hpp"
#include "runfiles/process_end.hpp"

namespace hpcbench {

struct SupervisionRules {
  std::optional<double> time_limit_s;
  double grace_s = 5;      // between SIGTERM and SIGKILL; infinite: whoever asks us to end kills us, too
  int good_exit_code = 0;  // every other one is a failure
  /// A process that ends with this one is to be continued: no failure, and the others may end by themselves, too.
  std::optional<int> saved_exit_code = {};
  /// How long before the time limit processes get SIGUSR1: that they save what they have. 0: never, and a scheduler's word that
  /// the limit is near ends nothing, because we know when it is.
  std::optional<double> warn_s = {};
  /// How they get it, where a scheduler started them. Empty: as `pass_on` does.
  std::function<void()> warn = {};
  /// How processes are ended that a scheduler started for us: SIGTERM, then, when the grace is over, SIGKILL every second.
  /// It may use `signal_processes`. Empty: by signals to what we started ourselves.
  std::function<void(int signal)> end;
  /// Signals of a process of this name reach what we started by themselves, and are not passed on. Empty: of none.
  std::string tells_all = {};
  /// Whether what runs now was asked to end: looked at when SIGUSR2 comes, in a batch job alone. Empty: nobody asks so.
  std::function<bool()> was_asked = {};
};

/// Starts processes and sees that all of them, and all that they start, end: when one fails, when the time is over, when
/// this process is asked to end (SIGTERM, SIGINT), and what is left when the last one ended by itself. No threads.
class Supervisor {
 public:
  /// In the foreground SIGHUP is a wish to end, too, the signal that came is the one that processes get, and signals that
  /// were ignored stay so. In a step of a scheduler processes get SIGUSR1, SIGINT and SIGTERM as they come: schedulers may
  /// signal their direct child alone, which we are. In a batch job SIGUSR1 says that the time limit is near (where we know
  /// that ourselves, by the rules' `warn_s`, it is passed on as the warning; see `expect_limit`), SIGUSR2
  /// that somebody has asked something of one of its runs; between SIGTSTP and SIGCONT the job is suspended.
  enum class Place { background, foreground, step, batch };

  /// From here on the signals that matter are held until `run` takes them.
  explicit Supervisor(Place place);

  /// In a batch job, for how many seconds processes may go on after SIGUSR1: a scheduler says early that its limit is near, and
  /// somebody may move that. Asked then, and again when that time is over. Without it, the time is over with the signal.
  void expect_limit(std::function<double()> time_left_s) { time_left_s_ = std::move(time_left_s); }

  /// Asked once a second whether a person wants the end of what runs, where a batch system would only kill this process and
  /// leave the others. Yes counts as SIGTERM.
  void expect_request(std::function<bool()> is_asked_to_end) { is_asked_to_end_ = std::move(is_asked_to_end); }

  /// Returns when no descendant of this process is left. `error` says why a process could not be started; the others are ended.
  Supervision run(const std::vector<ProcessSpec>& specs, const SupervisionRules& rules, std::optional<StartError>& error);

  /// Takes the signals that have come, and those that come within `seconds`, until we are asked to end; what has been asked so
  /// far is `timed_out` and `cancelled_by` of the result. For when nothing runs.
  const Supervision& await_wish(double seconds);
  const Supervision& so_far() const { return result_; }

  /// To the programs that `run` started alone: what they started may not know the signal, and would die of it.
  void pass_on(int signal);
  /// To all that this process started: the group at a stroke, then those that left it.
  void signal_processes(int signal);

 private:
  struct Tracked {
    StartedProcess process;
    std::optional<ProcessEnd> end;
  };

  void start(const std::vector<ProcessSpec>& specs, std::optional<StartError>& error);
  void wait_for_ranks();
  void take_signal(int signal, pid_t child);
  void note_program(pid_t pid);
  bool reap_one(pid_t pid);
  bool reap_all();
  void note_end(Tracked& tracked, int status, const rusage& usage);
  bool has_time_left();
  bool take_suspension(int signal);
  void take_resumption();
  double deadline_s() const;
  double warning_at_s() const;
  void warn();
  bool all_were_told() const;
  void begin_ending(int signal);
  void note_wish(int signal);
  void end_ranks(int signal);
  void end_leftovers();
  int next_signal(double timeout_s, pid_t& child);

  Place place_;
  SupervisionRules rules_;
  std::function<double()> time_left_s_;
  std::function<bool()> is_asked_to_end_;
  double limit_at_s_ = std::numeric_limits<double>::infinity();  // once a scheduler has said that it is near
  std::optional<double> begin_s_;                                // absent: nothing was started
  sigset_t wanted_;
  std::vector<Tracked> ranks_;
  pid_t group_ = 0;
  int running_ = 0;
  bool ending_ = false;
  std::optional<double> kill_at_s_;
  std::optional<double> suspended_at_s_;  // while the job is
  pid_t sender_ = 0;                      // of the last signal that asked something; 0: nobody, or one in another pid namespace
  Supervision result_;
};

}  // namespace hpcbench
