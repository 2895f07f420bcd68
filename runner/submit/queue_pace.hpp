#pragma once

#include <optional>

#include "base/clock.hpp"

namespace hpcbench {

/// When an executor whose jobs wait in a queue submits and asks for its jobs. While the queue takes no job, submissions pause
/// twice as long each time, from 1 s to 60 s. Polls follow after 5 % of the time since anything changed, at least 1 s, at most
/// 60 s.
class QueuePace {
 public:
  explicit QueuePace(Clock& clock) : clock_(clock), last_change_s_(clock.monotonic_s()) {}

  bool may_submit() const { return clock_.monotonic_s() >= not_before_s_; }
  /// The queue takes no job for now.
  void pause();
  /// It took one.
  void resume() { pause_s_ = 0; }

  void note_change() { last_change_s_ = clock_.monotonic_s(); }
  void note_poll() { last_poll_s_ = clock_.monotonic_s(); }
  bool has_polled() const { return last_poll_s_.has_value(); }
  /// Sleeps until the next poll, or, where no job is watched, the next submission; at most `seconds`. Whether a poll is due.
  bool wait(double seconds, bool watches_jobs);

 private:
  Clock& clock_;
  double last_change_s_;
  std::optional<double> last_poll_s_;
  double not_before_s_ = 0;  // of the next submission
  double pause_s_ = 0;
};

}  // namespace hpcbench
