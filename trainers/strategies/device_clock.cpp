#include "strategies/device_clock.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace hpcbench::train {

DeviceClock::Stretch::Stretch(DeviceClock& clock, double& sum)
    : clock_(clock), sum_(sum), begun_s_(monotonic_s()), lap_(clock.device_.begin_lap()) {
  clock_.settle();
}

DeviceClock::Stretch::~Stretch() {
  if (!lap_) {
    sum_ += monotonic_s() - begun_s_;
    return;
  }
  try {
    lap_->end();
  } catch (const c10::Error&) {
    return;  // of the device: the work itself fails with it and reports it
  }
  clock_.open_.emplace_back([lap = lap_, &sum = sum_] {
    const std::optional<double> seconds = lap->seconds();
    sum += seconds.value_or(0);
    return seconds.has_value();
  });
}

void DeviceClock::add(std::shared_ptr<Span> span, Traffic& traffic) {
  open_.emplace_back([span = std::move(span), &traffic] {
    const std::optional<SpanTimes> times = span->times();
    if (!times) return false;
    const double exposed_s = std::min(times->exposed_s, times->total_s);
    traffic.exposed_s += exposed_s;
    traffic.hidden_s += times->total_s - exposed_s;
    return true;
  });
}

void DeviceClock::settle() {
  std::erase_if(open_, [](const std::function<bool()>& add_times) { return add_times(); });
}

void DeviceClock::settle_all() {
  if (open_.empty()) return;
  device_.synchronise();
  settle();
}

void DeviceClock::uncounted(Traffic& traffic, const std::function<void()>& work) {
  std::vector<std::function<bool()>> training = std::exchange(open_, {});
  const Traffic before = traffic;
  work();
  open_ = std::move(training);
  traffic = before;
}

}  // namespace hpcbench::train
