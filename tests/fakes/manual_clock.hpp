#pragma once

#include "base/clock.hpp"

namespace hpcbench {

/// A clock that moves only on request, or when a test sleeps on it.
class ManualClock : public Clock {
 public:
  double monotonic_s() override { return now_s_; }
  double unix_s() override { return kStartUnixS + now_s_; }
  void sleep(double seconds) override { advance(seconds); }

  void advance(double seconds) { now_s_ += seconds; }

 private:
  static constexpr double kStartUnixS = 1'763'650'000;  // 2025-11-20, an arbitrary moment
  double now_s_ = 0;
};

}  // namespace hpcbench
