#include "base/run_history.hpp"

#include <cstddef>
#include <optional>

namespace hpcbench {

namespace {

std::optional<std::size_t> miss_index(State outcome) {
  if (outcome == State::lost) return 0;
  if (outcome == State::node_failure) return 1;
  if (outcome == State::preempted) return 2;
  if (outcome == State::failed) return 3;
  return std::nullopt;
}

}  // namespace

void RunHistory::add(const AttemptState& attempt, bool is_miss) {
  const int number = attempt.key.attempt;
  const bool is_highest = number > highest_;
  if (is_outcome(attempt.state)) note_end(number, attempt.state, is_miss && attempt.standing == Standing::normal);
  if (is_highest) highest_ = number;
  if (attempt.is_void) {
    if (is_highest && !is_excluded()) state_ = State::planned;
    return;
  }
  last_ = number;
  last_state_ = attempt.state;
  if (attempt.standing == Standing::normal) {
    counting_ = number;
    if (is_highest) state_ = attempt.state;
    return;
  }
  aside_ = number;
  standing_ = attempt.standing;
  misses_ = {};
  if (is_highest && counting_ == 0) state_ = is_measured_again() ? State::planned : attempt.state;
}

void RunHistory::add_intended(int attempt) {
  highest_ = last_ = attempt;
  state_ = last_state_ = State::intended;
}

void RunHistory::note_end(int attempt, State outcome, bool is_miss) {
  if (is_miss) count_miss(outcome);
  if (attempt < last_ended_) return;
  last_ended_ = attempt;
  last_outcome_ = outcome;
}

void RunHistory::take_back_highest() {
  --highest_;
  state_ = State::planned;
}

void RunHistory::count_miss(State outcome) {
  if (const auto miss = miss_index(outcome)) ++misses_[*miss];
}

bool RunHistory::may_retry(const Retries& retries) const {
  const std::array<int, 4> limits = {retries.lost, retries.node_failure, retries.preempted, retries.failed};
  const auto miss = miss_index(last_state_);
  return !is_closed() && miss && misses_[*miss] <= limits[*miss];
}

}  // namespace hpcbench
