#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/attempt_record.hpp"
#include "runfiles/run_info.hpp"
#include "runfiles/settled.hpp"

namespace hpcbench {

/// Whether a metric of one segment alone says nothing of a run that has several: times, bytes, and what adds up.
bool is_of_one_segment(const std::string& metric);

/// Makes the record of a run's last segment one of the run, where `continue` gave it several: `segments` counts them; `wall_s`,
/// `user_s` and `sys_s` are sums over all of them, `max_rss_bytes` is the largest; the fact `suspended` is a sum, too. Where
/// one of them left no such value there is none: part of a sum would be taken for it. `folder`: the attempt's.
void combine_segments(const std::string& folder, const RunInfo& info, const Finished& finished, AttemptRecord& record);

/// Of a run that a time limit ended so much is known: it takes longer than the time that it had, which Slurm's limit ends
/// somewhat before the run's own; with segments, than they took together.
void bound_by_time_had(const RunInfo& info, const Finished& finished, AttemptRecord& record);
/// Of one whose end nobody saw: it took no longer than until that was concluded, and counts no more in a budget.
void bound_by_settling(const Settled& settled, AttemptRecord& record);

/// What rank 0's `step` events (docs/events.md) say of one segment.
struct SegmentSteps {
  long long first = 0, last = 0;     // numbers of steps; 0: no such event
  bool is_complete = true;           // an event of every step from `first` to `last`
  std::optional<int> from = {};      // run.json: the attempt that it goes on from; 0: it begins
  std::vector<double> seconds = {};  // step_s of each step; shorter than the steps where one has none
};

/// Reads events.jsonl and run.json of a segment's folder. Never fails: damage makes it incomplete.
SegmentSteps read_segment_steps(const std::string& folder);

/// Both are exact or absent, never estimated.
struct StepsDone {
  std::optional<double> redone;  // steps that a segment did and a later one did again
  std::optional<double> kept_s;  // seconds of all steps, of each step its last time
};
/// Segments in their order, the run's last one last. Absent unless every segment that says anything has an event of each step,
/// and numbers go on from segment to segment.
StepsDone steps_over_segments(const std::vector<SegmentSteps>& segments);

}  // namespace hpcbench
