#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace hpcbench {

/// The state of an attempt. From `succeeded` on it is final: an outcome.
enum class State {
  planned,
  intended,
  submitted,
  running,
  succeeded,
  failed,
  timeout,
  out_of_memory,
  cancelled,
  node_failure,
  preempted,
  lost,
};

inline constexpr std::array kStates = {State::planned,   State::intended,     State::submitted, State::running,
                                       State::succeeded, State::failed,       State::timeout,   State::out_of_memory,
                                       State::cancelled, State::node_failure, State::preempted, State::lost};

constexpr bool is_outcome(State state) { return state >= State::succeeded; }

constexpr std::string_view to_string(State state) {
  constexpr std::array<std::string_view, kStates.size()> kNames = {"planned",   "intended",     "submitted", "running",
                                                                   "succeeded", "failed",       "timeout",   "out_of_memory",
                                                                   "cancelled", "node_failure", "preempted", "lost"};
  return kNames[static_cast<std::size_t>(state)];
}

/// Whether the user set an attempt aside: it then counts in no table. `measure_again`: its run gets a new attempt.
enum class Standing { normal, set_aside, measure_again };

/// Returns the name for people. For programs, the state between a plan and its submission is `intended`.
constexpr std::string_view shown_name(State state) { return state == State::intended ? "waiting" : to_string(state); }

constexpr std::optional<State> parse_state(std::string_view name) {
  for (const State state : kStates) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace hpcbench
