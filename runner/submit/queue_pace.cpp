#include "submit/queue_pace.hpp"

#include <algorithm>

namespace hpcbench {

namespace {

constexpr double kShortestPause = 1;  // seconds between submissions while the queue takes no job
constexpr double kLongestPause = 60;
constexpr double kPollFraction = 0.05;  // of the time since anything changed
constexpr double kShortestInterval = 1;
constexpr double kLongestInterval = 60;

}  // namespace

void QueuePace::pause() {
  pause_s_ = std::clamp(pause_s_ * 2, kShortestPause, kLongestPause);
  not_before_s_ = clock_.monotonic_s() + pause_s_;
}

bool QueuePace::wait(double seconds, bool watches_jobs) {
  const double now_s = clock_.monotonic_s();
  if (!watches_jobs) {
    clock_.sleep(not_before_s_ > now_s ? std::min(seconds, not_before_s_ - now_s) : seconds);
    return false;
  }
  const double interval_s = std::clamp((now_s - last_change_s_) * kPollFraction, kShortestInterval, kLongestInterval);
  const double due_s = last_poll_s_ ? *last_poll_s_ + interval_s : now_s;
  const double pause_s = std::min(seconds, due_s - now_s);
  if (pause_s > 0) clock_.sleep(pause_s);
  return clock_.monotonic_s() >= due_s;
}

}  // namespace hpcbench
