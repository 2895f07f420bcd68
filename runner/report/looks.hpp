#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/samples.hpp"
#include "report/table.hpp"
#include "stats/looks.hpp"

namespace hpcbench {

// The progress of rows whose number of repeats is found during the study (`repeats: {..., until: 3 %}`): docs/statistics.md,
// "Repeats until it is certain". All of it is computed from the recorded runs; nothing else is stored.

/// Returns the confidence of a report's intervals: for one look, or jointly over its looks.
Confidence confidence_of(const ReportSettings& settings);

/// InputError for a rule whose looks have too few runs for any interval: every row would continue to the last look undecided.
void check_repeat_rule(const Experiment& experiment);

/// Returns the last look that a row has reached: all repeats up to it have an outcome. 0: none, or a study without looks.
int reached_look(const Sample& sample, const ReportSettings& settings);

/// One configuration of the plan.
struct LookProgress {
  std::optional<std::size_t> baseline;  // its baseline, another configuration of the plan
  int ended = 0;                        // repeats 1 to `ended` have an outcome
  int look = 0;                         // the look of `half_width`; if speedups decide, its baseline reached it, too
  int without_value = 0;                // repeats up to the look that failed or have no value
  std::optional<double> half_width;     // as a share of the median, or of the speedup; nullopt: no interval there
  bool decided = false;                 // `half_width` is at most `until`
  int last_look = 0;                    // no run is made beyond it
  int next = 0;                         // the number of repeats to continue to; 0: it stops
  std::string why;                      // why it is not decided; empty if it is
  std::optional<double> run_hours;      // cost of a run: by the median time of whole runs, else by its time limits
  CostUnit cost_unit = CostUnit::gpu_hours;
  bool by_limits = false;  // none succeeded or reached its limit: `run_hours` are the limits of the maximum of segments

  /// Runs that would bring the row to the width, by its spread at the last look: n (half width / until)^2, at the next look
  /// after that. nullopt if the spread is unknown; above the last look: the row will not reach the width.
  std::optional<int> forecast = {};
};

/// Returns the progress in the order of the plan. A fixed number of repeats is the only look, and requires no width.
std::vector<LookProgress> look_progress(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records);

/// Returns the same for samples of this plan whose speedups are computed.
std::vector<LookProgress> judge_looks(const std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan);

/// Returns the remaining cost of an undecided row: `; about 12 more runs, 3.1 GPU-hours (half to twice as much)`; empty if
/// unknown.
std::string describe_rest(const LookProgress& progress);

/// Returns `half width 4.2 % at the look of 11 runs (until 3 %)` for one row; empty for a study without looks.
std::string describe_progress(const LookProgress& progress, const Experiment& experiment);

}  // namespace hpcbench
