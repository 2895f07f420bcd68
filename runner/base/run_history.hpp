#pragma once

#include <array>
#include <string>

#include "base/run_name.hpp"
#include "base/state.hpp"

namespace hpcbench {

/// The part of an attempt's record that decides which attempt counts.
struct AttemptState {
  AttemptKey key;
  State state = State::intended;
  bool is_void = false;    // hpcbench revoked it before it ran: it never counts
  std::string rules = {};  // hash of the reading rules that made its record; empty without a record
  Standing standing = Standing::normal;
};

/// How many further attempts a run gets automatically after each of these outcomes.
struct Retries {
  int lost = 2;
  int node_failure = 2;
  int preempted = 2;
  int failed = 0;  // by the process's own end, never because of a value
};

/// The attempts of a run and the run's state. The last attempt that is neither void nor set aside counts.
class RunHistory {
 public:
  /// Adds a recorded attempt, in rising order. `is_miss`: counts against Retries if it ended with one of its outcomes.
  void add(const AttemptState& attempt, bool is_miss = false);

  // Changes from now on.
  /// Adds an attempt that was just made, or that was found without a record.
  void add_intended(int attempt);
  /// Sets the state of the highest attempt; `planned`: another attempt is due.
  void set_state(State state) {
    state_ = state;
    if (state != State::planned) last_state_ = state;
  }
  /// Records the end of an attempt. The run's state is that of the highest attempt.
  void note_end(int attempt, State outcome, bool is_miss);
  /// The highest attempt was never submitted: its number will be used again.
  void take_back_highest();

  /// Returns the state of the run: that of its highest attempt; `planned` where another attempt is due: none was made, the
  /// highest is void, or the run is measured again.
  State state() const { return state_; }
  /// Returns the highest attempt, void or not; 0: none.
  int highest() const { return highest_; }
  /// Returns the last attempt that is not void; 0: none.
  int last() const { return last_; }
  State last_state() const { return last_state_; }
  /// Returns the highest attempt with an outcome, void or not; 0: none.
  int last_ended() const { return last_ended_; }
  State last_outcome() const { return last_outcome_; }

  /// Returns the attempt that counts; 0: none.
  int counting() const { return counting_; }
  /// Returns the last attempt that was set aside; 0: none.
  int aside() const { return aside_; }
  /// Returns whether no attempt counts and none will: the run is left out.
  bool is_excluded() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::set_aside; }
  /// Returns whether no attempt counts yet, but the next one will.
  bool is_measured_again() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::measure_again; }
  /// Returns whether the last attempt was set aside: no other one follows automatically.
  bool is_closed() const { return aside_ > 0 && (aside_ == last_ || aside_ == highest_); }
  /// Returns whether the last attempt ended so that the run gets another one automatically.
  bool may_retry(const Retries& retries) const;

 private:
  void count_miss(State outcome);

  int highest_ = 0, last_ = 0, last_ended_ = 0, counting_ = 0, aside_ = 0;
  State state_ = State::planned, last_state_ = State::planned, last_outcome_ = State::planned;
  Standing standing_ = Standing::normal;  // of `aside_`
  std::array<int, 4> misses_ = {};        // attempts that were lost, lost to a node, preempted, or failed on their own
};

}  // namespace hpcbench
