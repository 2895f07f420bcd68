#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/state.hpp"

namespace hpcbench {

/// How many runs are in each state.
struct StateCounts : std::map<State, long long> {
  using std::map<State, long long>::map;

  /// 0 where none is.
  long long of(State state) const;
  long long all() const;
  /// With an outcome.
  long long ended() const;
  /// `3 succeeded, 1 failed`, but for those in the state `without`; `none` if there are no others.
  std::string text(std::optional<State> without = std::nullopt) const;
};

}  // namespace hpcbench
