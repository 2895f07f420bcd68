#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// One configuration with what was measured of it. Pointers are into the records of the report.
struct Sample {
  Row row;
  std::vector<const AttemptRecord*> runs;      // one a run, by number, without warm-ups
  std::vector<const AttemptRecord*> measured;  // those that succeeded and have the metric
  std::vector<double> values;                  // of `measured`, in the metric's unit
  std::vector<double> train_losses;
  std::optional<std::size_t> baseline;  // index of the sample it is compared with; its own for a baseline
};

/// One attempt a run, warm-ups too, sorted by configuration and run: of several attempts the highest counts.
std::vector<const AttemptRecord*> counting_attempts(const std::vector<AttemptRecord>& records);

struct MetricChoice {
  std::string name;
  std::string unit;
  bool is_time = false;  // in seconds: speedups make sense, time limits censor it
};

/// --metric, else report.metric, else train_s or wall_s. InputError if runs succeeded and none of them has it.
MetricChoice choose_metric(const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts,
                           const ReportOptions& options);

/// The value of a metric where the run succeeded and the value is finite.
std::optional<double> metric_value(const AttemptRecord& record, const std::string& metric);

/// What is on record and not asked for.
struct Orphans {
  std::size_t configurations = 0;
  std::size_t repeats = 0;  // runs beyond `repeats` of configurations that are asked for
};
Orphans count_orphans(const Plan& plan, const std::vector<const AttemptRecord*>& attempts);
/// The attempts without those repeats.
std::vector<const AttemptRecord*> asked_repeats(const Plan& plan, std::vector<const AttemptRecord*> attempts);

/// Summaries of all configurations of the plan, in its order; after them, if `orphans`, those only on record.
std::vector<Sample> collect_samples(const Plan& plan, const std::vector<const AttemptRecord*>& attempts,
                                    const MetricChoice& metric, const ReportSettings& settings, ScaleBy unit, bool orphans);

/// Finds each sample's baseline (one of the plan, whose samples come first), and fills in speedup, efficiency and Karp-Flatt.
/// Appends notes for points that have none. InputError if nothing has one, or one has two.
void compare_with_baselines(std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan,
                            std::vector<std::string>& notes);

/// InputError where compare_with_baselines would give one for this plan; without its rows, which a large study has many of.
void check_baselines(const Experiment& experiment, const Plan& plan);

/// The estimator of all speedups: see docs/statistics.md, "Against the baseline". Absent where it cannot be had.
std::optional<Ratio> estimate_speedup(const Sample& base, const Sample& sample, const ReportSettings& settings);

/// A fact that the measured runs of a row give, of the first that has it; null if none has.
const std::string* find_fact(const Sample& sample, const std::string& name);
/// The same where it is one number.
std::optional<double> number_fact(const Sample& sample, const std::string& name);

// What a row has beside the metric (docs/statistics.md, "What does not scale"). Each fills in its fields of `sample.row`.

/// Phases, rates, GPU-hours, MFU; medians of `metric_columns`.
void measure_parts(Sample& sample, const ReportSettings& settings, const std::vector<std::string>& metric_columns);
/// Losses by epoch, best epoch, gap, time to the target loss; times of ranks and their imbalance.
void measure_series(Sample& sample, const ReportSettings& settings);
/// The facts of its measured runs, of all runs where none was measured. What `row.facts` lacks no measured run has.
void gather_facts(Sample& sample);

/// Amdahl's or Gustafson's law for each set of shown rows that differ in `sizes` (see size_axes.hpp) only.
std::vector<Fit> fit_scaling(const std::vector<const Sample*>& shown, const ReportSettings& settings,
                             const std::vector<std::string>& columns, const std::vector<std::string>& sizes);

/// Versions, commits, nodes, seeds behind the shown rows.
std::vector<ProvenanceRow> gather_provenance(const std::vector<const Sample*>& shown, const Plan& plan);

/// Of any metric of the runs that succeeded; absent where none has it.
std::optional<Summary> summarise_metric(const Sample& sample, const std::string& metric, double confidence);

/// For each of `report.references` the samples of the plan that it is about, ascending. InputError where one is about none, and
/// the plan is not one that a profile or --set made smaller.
std::vector<std::vector<std::size_t>> match_references(const Experiment& experiment, const Plan& plan);

/// What the checks of a table look at.
struct WarningContext {
  const Experiment& experiment;
  int planned_repeats = 1;
  const std::vector<Sample>& samples;
  const std::vector<const Sample*>& shown;
  const std::vector<const AttemptRecord*>& attempts;
  const std::vector<std::string>& columns;  // axes that tell rows apart
  const MetricChoice& metric;
  const std::vector<std::vector<std::size_t>>& references;  // of match_references
};

/// The methods paragraph and the twelve rules, from what the runs and the warnings say. `table` has all else filled in.
void describe_methods(Table& table, const WarningContext& context);

/// All warnings of docs/statistics.md, in its order.
std::vector<TableWarning> find_warnings(const WarningContext& context);

/// Whether results that hpcbench did not start are among the measured runs of a row.
bool is_imported(const Sample& sample);

/// `strategy=ddp, nodes=2`: the axes of `columns`; the config_id if there are none.
std::string row_label(const std::vector<std::string>& columns, const Row& row);

/// `1 gpu`, `8 ranks`: `unit` is a plural, as in Table::scale_by.
std::string counted_size(const std::string& unit, int count);

/// The experiment's name, with `(simulated nodes)` where rows are such: what tables and plots are called.
std::string table_title(const Table& table);

/// `A, B, C and 4 more`.
std::string list_some(const std::vector<std::string>& names);

}  // namespace hpcbench
