#pragma once

#include <array>
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

/// How often a run that ended so gets another attempt of its own accord.
struct Retries {
  int lost = 2;
  int node_failure = 2;
  int preempted = 2;
  int failed = 0;  // by the process's own end: never because of a value
};

/// The attempts of a run, and what follows from them. The last attempt that is neither void nor set aside counts.
class RunHistory {
 public:
  /// Adds an attempt on record; they come in rising order. `is_miss`: it counts against Retries if it ended as they name.
  void add(const AttemptState& attempt, bool is_miss = false);

  // Changes from now on.
  /// A new attempt was made, or an unknown one was found.
  void add_intended(int attempt);
  /// The highest attempt stands so; `planned`: another one is due.
  void set_state(State state) {
    state_ = state;
    if (state != State::planned) last_state_ = state;
  }
  /// An attempt has ended. Of several the highest decides.
  void note_end(int attempt, State outcome, bool is_miss);
  /// The highest attempt was never handed over: its number is used again.
  void take_back_highest();

  /// State of the run: that of its highest attempt; `planned` where another attempt is due: none was made, the highest is void,
  /// or the run is measured again.
  State state() const { return state_; }
  /// The highest attempt that was made, void or not; 0: none.
  int highest() const { return highest_; }
  /// The last attempt that is not void; 0: none.
  int last() const { return last_; }
  State last_state() const { return last_state_; }
  /// The highest attempt with an outcome, void or not; 0: none.
  int last_ended() const { return last_ended_; }
  State last_outcome() const { return last_outcome_; }

  /// The attempt that counts; 0: none.
  int counting() const { return counting_; }
  /// The last attempt that was set aside; 0: none.
  int aside() const { return aside_; }
  /// No attempt counts, and none will: the run is left out.
  bool is_excluded() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::set_aside; }
  /// No attempt counts yet: the next one will.
  bool is_measured_again() const { return counting_ == 0 && aside_ > 0 && standing_ == Standing::measure_again; }
  /// The last attempt was set aside: nothing follows it of its own accord.
  bool is_closed() const { return aside_ > 0 && (aside_ == last_ || aside_ == highest_); }
  /// Whether the last attempt ended so that the run gets another one of its own accord.
  bool may_retry(const Retries& retries) const;

 private:
  void count_miss(State outcome);

  int highest_ = 0, last_ = 0, last_ended_ = 0, counting_ = 0, aside_ = 0;
  State state_ = State::planned, last_state_ = State::planned, last_outcome_ = State::planned;
  Standing standing_ = Standing::normal;  // of `aside_`
  std::array<int, 4> misses_ = {};        // attempts that were lost, lost to a node, preempted, failed by themselves
};

}  // namespace hpcbench
