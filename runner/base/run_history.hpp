#pragma once

#include "base/state.hpp"

namespace hpcbench {

/// The attempts of a run, and what follows from them. The last attempt that is neither void nor set aside counts.
class RunHistory {
 public:
  /// Adds an attempt; they come in rising order.
  void add(int attempt, State state, bool is_void, Standing standing) {
    if (is_void) return;
    if (standing == Standing::normal) {
      counting_ = attempt;
      return;
    }
    aside_ = attempt;
    aside_state_ = state;
    standing_ = standing;
  }

  /// The attempt that counts; 0: none.
  int counting() const { return counting_; }
  /// The last attempt that was set aside; 0: none.
  int aside() const { return aside_; }
  State aside_state() const { return aside_state_; }
  /// No attempt counts, and none will: the run is left out.
  bool is_excluded() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::set_aside; }
  /// No attempt counts yet: the next one will.
  bool is_measured_again() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::measure_again; }

 private:
  int counting_ = 0, aside_ = 0;
  State aside_state_ = State::planned;
  Standing standing_ = Standing::normal;
};

}  // namespace hpcbench
