#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/outcome_counts.hpp"
#include "base/run_history.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

/// The history of each run of a plan, in the order of submission. Everything is found in constant time; counts are kept.
class RunTable {
 public:
  struct Run {
    PlannedRun planned;
    RunHistory history = {};
    bool skipped = false;  // a warm-up that nothing needs

    State state() const { return history.state(); }
    int highest() const { return history.highest(); }
  };

  /// `with_warmups` false leaves them out (they would warm another node).
  RunTable(const Plan& plan, bool with_warmups);

  std::size_t size() const { return runs_.size(); }
  const Run& operator[](std::size_t index) const { return runs_[index]; }
  std::optional<std::size_t> find(const std::string& config_id, RunName name) const;
  AttemptKey key(std::size_t index, int attempt) const;

  // As RunHistory has them.
  void add(std::size_t index, const AttemptState& attempt, bool is_miss);
  void add_intended(std::size_t index, int attempt);
  void set_state(std::size_t index, State state);
  void note_end(std::size_t index, int attempt, State outcome, bool is_miss);
  void take_back_highest(std::size_t index);

  /// Warm-ups of configurations none of whose repeats is to be submitted are not needed.
  void skip_idle_warmups();
  /// Whether a run may begin: a repeat waits for its configuration's warm-ups.
  bool may_begin(std::size_t index) const;

  /// Runs without an outcome.
  long long open() const { return counts_.asked - counts_.ended; }
  const OutcomeCounts& counts() const { return counts_; }

 private:
  std::size_t slot(std::size_t configuration, RunName name) const;
  /// Changes a history, and the counts with it.
  template <typename Change>
  void change(std::size_t index, Change change);

  const Plan& plan_;
  std::vector<Run> runs_;
  std::vector<std::size_t> index_;  // configuration x (warm-ups, repeats) -> run
  std::vector<int> open_warmups_;   // by configuration
  std::unordered_map<std::string_view, std::size_t> configurations_;
  OutcomeCounts counts_;
};

}  // namespace hpcbench
