#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"

namespace hpcbench {

/// How long a study will still take: the work that is left, from what runs of the same configuration took (else from what runs
/// of the others took), by the pace at which work gets done. It is estimated anew when a run ends, and counts down in between;
/// it never rises without saying why.
class RemainingTime {
 public:
  /// `slots`: local jobs at once, which gives a pace before any run has ended here; absent where a scheduler decides.
  RemainingTime(Clock& clock, std::optional<int> slots);

  /// Runs of a configuration took so long, on average, in earlier calls.
  void know(const std::string& config_id, double wall_s);
  /// So many runs of a configuration are still to end.
  void expect(const std::string& config_id, long long runs);
  /// The work begins now: what ended before, as runs that another call started, says nothing of the pace.
  void begin();
  /// One has ended now. `wall_s` is absent where it is not known.
  void note_end(const std::string& config_id, std::optional<double> wall_s);

  /// `about 4 min left`, with the reason where that is more than was said before; empty where nothing is known. `left`: runs
  /// without an outcome.
  std::string text(long long left);

 private:
  struct Runs {
    long long left = 0;
    long long measured = 0;
    double wall_s = 0;  // the sum of those measured
  };

  std::optional<double> mean_of(const Runs& runs) const;
  std::optional<double> work_left(long long left) const;
  std::optional<double> pace() const;
  void estimate(long long left);
  std::string reason() const;

  Clock& clock_;
  std::optional<int> slots_;
  double start_s_;
  std::map<std::string, Runs> configurations_;
  Runs all_;
  bool due_ = true;                // something has happened since the last estimate
  std::optional<double> first_s_;  // when the first run ended here
  double last_s_ = 0;              // when the latest did
  double work_since_start_s_ = 0;  // what runs that ended here took,
  double work_since_first_s_ = 0;  // the first of them aside
  std::optional<double> end_s_;    // when all will have ended, as was said last
  std::optional<double> last_wall_s_, last_expected_s_;
  std::string why_;  // the estimate has risen
};

}  // namespace hpcbench
