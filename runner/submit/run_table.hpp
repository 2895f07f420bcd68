#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/run_history.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

/// Where each run of a plan stands, in the order of submission. Everything is found in constant time; counts are kept, not
/// made.
class RunTable {
 public:
  struct Run {
    PlannedRun planned;
    int attempt = 0;                 // the highest that was made, 0: none
    State last = State::planned;     // the outcome of the highest attempt that has one
    int last_attempt = 0;            // which that is
    State state = State::planned;    // of the run: `planned` also when the highest attempt was revoked or is to be retried
    std::array<int, 4> misses = {};  // how many attempts were lost, lost to a node, preempted, failed by themselves
    bool skipped = false;            // a warm-up that nothing needs
    RunHistory history = {};         // of the attempts on record

    /// The highest attempt was set aside: nothing follows it by itself.
    bool is_closed() const { return history.aside() > 0 && history.aside() == attempt; }
  };

  /// `with_warmups` false leaves them out (they would warm another node).
  RunTable(const Plan& plan, bool with_warmups);

  std::size_t size() const { return runs_.size(); }
  const Run& operator[](std::size_t index) const { return runs_[index]; }
  std::optional<std::size_t> find(const std::string& config_id, RunName name) const;
  AttemptKey key(std::size_t index, int attempt) const;

  /// Notes an attempt on record; those of a run come in rising order. `is_miss`: it counts against `retries`, unless it was set
  /// aside. The state of the run is then that of its highest attempt; after a void one it is planned, and if the highest was
  /// set aside, it is as RunHistory says.
  void note_known(std::size_t index, const AttemptState& known, bool is_miss);
  void set_state(std::size_t index, State state);
  void set_attempt(std::size_t index, int attempt) { runs_[index].attempt = attempt; }
  /// How an attempt ended; of several the highest is kept, whatever the run's state is.
  void note_outcome(std::size_t index, int attempt, State outcome);
  /// Counts an attempt that was lost, lost its node, was preempted or failed; other outcomes are none.
  void count_miss(std::size_t index, State outcome);
  /// Whether such an outcome may be followed by a new attempt of its own accord.
  bool may_retry(std::size_t index, State outcome, const Retries& retries) const;

  /// Warm-ups of configurations none of whose repeats is to be submitted are not needed.
  void skip_idle_warmups();
  /// Whether a run may begin: a repeat waits for its configuration's warm-ups.
  bool may_begin(std::size_t index) const;

  /// Runs without an outcome.
  long long open() const { return total_ - done_; }
  DispatchCounts counts() const { return {total_, done_, succeeded_, 0}; }

 private:
  std::size_t slot(std::size_t configuration, RunName name) const;

  const Plan& plan_;
  std::vector<Run> runs_;
  std::vector<std::size_t> index_;  // configuration x (warm-ups, repeats) -> run
  std::vector<int> open_warmups_;   // by configuration
  std::unordered_map<std::string_view, std::size_t> configurations_;
  long long total_ = 0, done_ = 0, succeeded_ = 0;
};

}  // namespace hpcbench
