#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "study/remaining_time.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

/// Shows how a campaign goes: one line in place on a terminal; lines otherwise, at most one in `kLineInterval` seconds.
class Progress {
 public:
  /// `slots`: local jobs at once; absent where a scheduler decides.
  explicit Progress(Clock& clock, std::optional<int> slots = std::nullopt);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `waiting`: what jobs wait for; empty: nothing to say.
  void show(const DispatchCounts& counts, const std::string& waiting = {});
  /// Of one of several studies: the line counts all of them, and names those that run.
  void show_of(const std::string& study, const DispatchCounts& counts, const std::string& waiting = {});
  /// From here on, of one round alone: `block 3: 0/2 done`. What had ended before it is not counted.
  void begin_round(const std::string& name, const DispatchCounts& before);
  /// Its counts alone.
  void count_of(const std::string& study, const DispatchCounts& counts) { studies_[study] = counts; }
  /// What is known of the time that is still to go.
  RemainingTime& remaining() { return remaining_; }
  /// A line of its own above the progress line.
  void print(const std::string& line);
  /// Ends the line in place.
  void finish();

 private:
  std::string text(const DispatchCounts& counts, const std::string& waiting);

  Clock& clock_;
  bool in_place_;
  double start_s_;
  double last_s_ = -1e9;
  RemainingTime remaining_;
  std::map<std::string, DispatchCounts> studies_;  // of several
  std::string round_;
  DispatchCounts before_round_;
  std::string shown_;
};

}  // namespace hpcbench
