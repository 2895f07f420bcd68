#pragma once

namespace hpcbench {

/// The seam to time: tests use a clock that they advance themselves (tests/fakes/manual_clock.hpp).
class Clock {
 public:
  virtual ~Clock() = default;
  /// Returns the seconds of a clock that never goes back.
  virtual double monotonic_s() = 0;
  /// Returns seconds since the epoch: for time stamps, never for durations.
  virtual double unix_s() = 0;
  /// Waits; a caught signal (Ctrl-C) may end it early.
  virtual void sleep(double seconds) = 0;
};

/// Returns the machine's own clock.
Clock& system_clock();

}  // namespace hpcbench
