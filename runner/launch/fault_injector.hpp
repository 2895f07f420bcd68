#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/faults.hpp"

namespace hpcbench {

/// A process that runs as a rank.
struct RankProcess {
  int rank = 0;
  pid_t pid = 0;
};

/// A process that was found through /proc: pids are used again, start times are not.
struct FoundProcess {
  pid_t pid = 0;
  unsigned long long start_ticks = 0;
};

/// Reads what programs append to their event files, and finds the step that they report.
class StepWatch {
 public:
  StepWatch(std::vector<std::string> files, long long step);
  /// Whether some event that was written since the last call names this step or a later one.
  bool reached();

 private:
  struct Tail {
    std::string path;
    long long offset = 0;
  };
  bool read_more(Tail& tail) const;

  std::vector<Tail> tails_;
  long long step_;
};

/// Brings the faults that `inject` asks for upon the ranks that one process of hpcbench started. It notes each in the attempt's
/// folder just before it happens (runfiles/injected.hpp). No threads: who waits for the ranks calls `act` in time.
class FaultInjector {
 public:
  /// `folder`: that of run.json; `run_dir`: of the events. `node_of`: the node of a rank. `faults` name their rank and
  /// node.
  FaultInjector(Faults faults, std::string folder, std::string run_dir, std::function<int(int rank)> node_of);

  /// Ranks have started: times count from here.
  void begin(const std::vector<RankProcess>& ranks);
  /// When `act` is to be called next, by the monotonic clock; infinite: nothing is to come.
  double next_s() const;
  /// Does what is due to those that still run.
  void act(const std::vector<RankProcess>& running);
  /// Stopped processes go on: before they are asked to end, as they would not hear of it.
  void release();

 private:
  void act_on_rank(const std::vector<RankProcess>& running, double now_s);
  void act_on_node(const std::vector<RankProcess>& running, double now_s);
  void find_slowed(const std::vector<RankProcess>& running, double now_s);
  void note(const std::string& kind, int rank, const std::string& text) const;

  Faults faults_;
  std::string folder_, run_dir_;
  std::function<int(int)> node_of_;
  std::optional<double> begin_s_;
  int writer_ = 0;  // the lowest rank here
  std::optional<StepWatch> steps_;
  double next_kill_s_ = 0, next_slow_s_ = 0;
  std::vector<FoundProcess> slowed_;
  double slowed_found_s_ = 0;
  bool slowing_ = false;  // it has begun, and is noted
  bool stopped_ = false;
};

}  // namespace hpcbench
