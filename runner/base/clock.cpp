#include "base/clock.hpp"

#include <cmath>
#include <ctime>

#include "base/host.hpp"

namespace hpcbench {

namespace {

class SystemClock : public Clock {
 public:
  double monotonic_s() override { return hpcbench::monotonic_s(); }
  double unix_s() override { return unix_time_s(); }
  void sleep(double seconds) override {
    if (!(seconds > 0)) return;
    const double whole = std::floor(seconds);
    const timespec wanted{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    ::nanosleep(&wanted, nullptr);
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace hpcbench
