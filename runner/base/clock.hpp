#pragma once

namespace hpcbench {

/// The seam to time: tests use a clock that they move by hand (tests/fakes/manual_clock.hpp).
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds of a clock that never goes back.
  virtual double monotonic_s() = 0;
  /// Seconds since the epoch: for time stamps, never for durations.
  virtual double unix_s() = 0;
  /// Waits; a signal that was asked for (Ctrl-C) may end it early.
  virtual void sleep(double seconds) = 0;
};

/// The machine's own clock.
Clock& system_clock();

}  // namespace hpcbench
