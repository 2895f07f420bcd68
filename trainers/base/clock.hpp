#pragma once

#include <chrono>

namespace hpcbench::train {

/// Returns the seconds of the monotonic clock, for durations only.
inline double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the seconds since the epoch, for time stamps only.
inline double unix_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace hpcbench::train
