#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/outcome_counts.hpp"
#include "study/remaining_time.hpp"

namespace hpcbench {

/// Shows how a campaign goes: one line in place on a terminal; lines otherwise, at most one in `kLineInterval` seconds.
class Progress {
 public:
  /// `slots`: local jobs at once; absent where a scheduler decides. `studies`: whose campaign it is.
  explicit Progress(Clock& clock, std::optional<int> slots = std::nullopt, std::size_t studies = 1);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `waiting`: what jobs wait for; empty: nothing to say. Where there are several studies, the line counts all of them, and
  /// names those that run.
  void show(const std::string& study, const OutcomeCounts& counts, const std::string& waiting = {});
  /// Its counts, for the lines of the others.
  void count(const std::string& study, const OutcomeCounts& counts) { counts_[study] = counts; }
  /// A round of the study begins, with the counts of its plan. The line of a single study then counts from here: `block 3: 0/2
  /// done`, where it has a name only runs that had not ended before.
  void begin_round(const std::string& study, const std::string& name, const OutcomeCounts& before);
  /// The counts of the line: with several studies all runs that have ended, and those of the present rounds.
  OutcomeCounts all_counts() const;
  /// What is known of the time that is still to go.
  RemainingTime& remaining() { return *remaining_; }
  /// A line of its own above the progress line.
  void print(const std::string& line);
  /// Ends the line in place.
  void finish();

 private:
  std::string text(const OutcomeCounts& counts, const std::string& waiting);

  Clock& clock_;
  std::optional<int> slots_;
  std::size_t studies_;
  bool in_place_;
  double start_s_;
  double last_s_ = -1e9;
  std::optional<RemainingTime> remaining_;
  std::map<std::string, OutcomeCounts> counts_;   // by study: of its round
  std::map<std::string, OutcomeCounts> outside_;  // of several studies: runs that have ended, and are not of the round
  std::string round_;
  OutcomeCounts before_round_;
  std::string shown_;
};

}  // namespace hpcbench
