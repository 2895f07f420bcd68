#include "base/state_counts.hpp"

#include <fmt/format.h>

namespace hpcbench {

long long StateCounts::of(State state) const {
  const auto found = find(state);
  return found == end() ? 0 : found->second;
}

long long StateCounts::all() const {
  long long runs = 0;
  for (const auto& [state, count] : *this) runs += count;
  return runs;
}

long long StateCounts::ended() const {
  long long runs = 0;
  for (const auto& [state, count] : *this) runs += is_outcome(state) ? count : 0;
  return runs;
}

std::string StateCounts::text(std::optional<State> without) const {
  std::string text;
  for (const auto& [state, count] : *this) {
    if (count > 0 && state != without) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, shown_name(state));
  }
  return text.empty() ? "none" : text;
}

}  // namespace hpcbench
