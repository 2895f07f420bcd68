#pragma once

#include "base/state.hpp"

namespace hpcbench {

/// The progress of the requested runs.
struct OutcomeCounts {
  long long asked = 0;
  long long ended = 0;  // with an outcome
  long long succeeded = 0;
  long long cancelled = 0;
  long long running = 0;
  long long set_aside = 0;  // not among the others

  /// One of the runs is in this state; `by` -1: it is no longer.
  void note(State state, int by = 1) {
    ended += is_outcome(state) ? by : 0;
    succeeded += state == State::succeeded ? by : 0;
    cancelled += state == State::cancelled ? by : 0;
  }
  /// Have no outcome, or were cancelled.
  long long not_carried_out() const { return asked - ended + cancelled; }
};

}  // namespace hpcbench
