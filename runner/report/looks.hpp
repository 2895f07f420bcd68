#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/samples.hpp"
#include "report/table.hpp"
#include "stats/looks.hpp"

namespace hpcbench {

// How far rows are whose number of repeats is found as it goes (`repeats: {..., until: 3 %}`): docs/statistics.md, "Repeats
// until it is certain". All of it follows from the runs on record; nothing is kept beside them.

/// How sure the intervals of a report are: once, or over its looks.
Confidence confidence_of(const ReportSettings& settings);

/// InputError for a rule whose looks are too few runs for any interval: every row would go on to the last, and none be decided.
void check_repeat_rule(const Experiment& experiment);

/// The last look that a row has reached: all of its repeats up to there have an outcome. 0: none, or a study without looks.
int reached_look(const Sample& sample, const ReportSettings& settings);

/// One configuration of the plan.
struct LookProgress {
  std::optional<std::size_t> baseline;  // what it is compared with, another configuration of the plan
  int ended = 0;                        // repeats 1 to `ended` have an outcome
  int look = 0;                         // what `half_width` is of; where speedups decide, its baseline reached it, too
  int without_value = 0;                // repeats up to the look that failed, or have no value
  std::optional<double> half_width;     // as a share of the median, or of the speedup; absent: no interval there
  bool decided = false;                 // it is at most `until`
  int last_look = 0;                    // beyond it no run is made
  int next = 0;                         // repeats that it goes on to; 0: it does not
  std::string why;                      // it is not decided, in words; empty where it is
  std::optional<double> run_hours;      // what a run costs: by the median time of whole ones, else by its time limits
  CostUnit cost_unit = CostUnit::gpu_hours;
  bool by_limits = false;  // none succeeded or reached its limit: these are the limits of as many segments as it may have

  /// Runs that bring the row to the width, by its spread at the last look: n (half width / until)^2, at the next look after
  /// that. Absent where the spread is not known; above the last look: it will not get there.
  std::optional<int> forecast = {};
};

/// In the order of the plan. A study of a fixed number of repeats has them as its only look, and asks for no width.
std::vector<LookProgress> look_progress(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records);

/// The same of samples of this plan that have their speedups.
std::vector<LookProgress> judge_looks(const std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan);

/// `; about 12 more runs, 3.1 GPU-hours (half to twice as much)`: what a row that is not decided still costs; empty where that
/// is not known.
std::string describe_rest(const LookProgress& progress);

/// `half width 4.2 % at the look of 11 runs (until 3 %)` for one row; empty for one of a study without looks.
std::string describe_progress(const LookProgress& progress, const Experiment& experiment);

}  // namespace hpcbench
