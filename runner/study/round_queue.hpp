#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/state.hpp"
#include "study/rounds.hpp"
#include "study/run_study.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// The rounds of a study in one call, in order: all that is asked for at once, or, with `until` or a budget, what the index
/// says after each round.
class RoundQueue {
 public:
  /// `budget`: of the call, which other studies spend from, too. All must outlive it.
  RoundQueue(const Study& study, const RunOptions& options, const Store& store, CallBudget& budget);
  /// Also where an error ends the study: no other one waits for what it may spend then.
  ~RoundQueue();
  RoundQueue(const RoundQueue&) = delete;
  RoundQueue& operator=(const RoundQueue&) = delete;

  /// The next round. None where all that is asked for has an outcome or cannot begin, the budget is too small, which it says,
  /// or `waits`.
  std::optional<Round> next();
  /// It begins: says what it takes, and takes that from the budget of the call.
  void begin(const Round& round);
  /// Whether blocks of other studies, which have not ended, may leave enough for another round.
  bool waits() const { return waits_; }
  /// The round has ended, and the index knows it.
  void note_end(const Store& store);
  /// Why nothing more begins once the attempts of this round have taken so many hours; empty: more may begin.
  std::string why_held(double round_hours);
  /// Whether rounds depend on what the ones before them measured or cost.
  bool is_adaptive() const { return is_adaptive_; }
  /// The state of an adaptive study at the last look.
  const RoundsView& view() const { return view_; }

 private:
  std::optional<double> hours_left_now() const;

  const Study& study_;
  const RunOptions& options_;
  CallBudget& budget_;
  bool is_adaptive_;
  std::string prepare_again_;  // for the first round
  RoundsView view_;
  double spent_before_ = 0;         // the call
  std::deque<Round> fixed_;         // come first, whatever was measured
  std::optional<long long> ended_;  // runs with an outcome when the last round of those that follow began
  bool waits_ = false;
};

}  // namespace hpcbench
