#pragma once

#include <string>

#include "base/run_name.hpp"
#include "base/state.hpp"

namespace hpcbench {

/// An attempt on record: what it takes to decide which one counts.
struct AttemptState {
  AttemptKey key;
  State state = State::intended;
  bool is_void = false;    // hpcbench revoked it before it ran: it counts for nothing
  std::string rules = {};  // hash of the reading rules that made its record; empty where there is none
  Standing standing = Standing::normal;
};

/// The attempts of a run, and what follows from them. The last attempt that is neither void nor set aside counts.
class RunHistory {
 public:
  /// Adds an attempt; they come in rising order.
  void add(const AttemptState& attempt) {
    if (attempt.is_void) return;
    if (attempt.standing == Standing::normal) {
      counting_ = attempt.key.attempt;
      return;
    }
    aside_ = attempt.key.attempt;
    aside_state_ = attempt.state;
    standing_ = attempt.standing;
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
