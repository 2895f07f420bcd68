#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/metric.hpp"
#include "report/table.hpp"
#include "stats/looks.hpp"

namespace hpcbench {

/// One configuration with its measurements. Pointers refer to the records of the report.
struct Sample {
  Row row;
  std::vector<const AttemptRecord*> runs;      // one per run, by number, without warm-ups
  std::vector<const AttemptRecord*> measured;  // successful runs that have the metric
  std::vector<double> values;                  // of `measured`, in the metric's unit
  std::vector<double> train_losses;
  int other_statistics = 0;             // published values that do not count, because the row shows runs or another statistic
  std::optional<std::size_t> baseline;  // index of the sample that it is compared with; its own for a baseline
  int look = 0;  // in a study with looks: the last look that all its runs have reached; later runs do not count yet

  bool counts(RunName run) const { return look == 0 || (run.is_repeat() && run.number <= look); }
};

/// Returns attempts sorted by configuration and run. `records`: the counting attempt of each run (RunHistory).
std::vector<const AttemptRecord*> sorted_attempts(const std::vector<AttemptRecord>& records);

struct MetricChoice {
  std::string name;
  std::string unit;
  bool is_time = false;     // in seconds: time limits censor it
  bool is_of_part = false;  // one point of a series, or less than half of the runs: time limits do not bound it
  MetricKind kind = {Better::lower, true, false, ""};
  ScaleBy scale_by = ScaleBy::gpus;  // what Row::size counts

  bool is_compared() const { return kind.better.has_value(); }
  /// Returns whether the ratio is 1 for a row as fast as its baseline for its size: weak scaling, where work grows with it.
  bool is_flat(Scaling scaling) const { return scaling == Scaling::weak && !kind.counts_work; }
};

/// Returns the metric of --metric, else of report.metric, else train_s or wall_s. InputError if runs succeeded and none of them
/// has it, unless `metric_may_be_absent`.
MetricChoice choose_metric(const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts,
                           const ReportOptions& options);

/// Converts the values of each metric to one unit: the file's, else that of the plan's first run. InputError if the report's
/// metric, or a column's, has units that do not convert. `attempts`: the counting ones of `records`.
void unify_units(std::vector<AttemptRecord>& records, const std::vector<const AttemptRecord*>& attempts, const Plan& plan,
                 const Experiment& experiment, const ReportOptions& options);

/// Returns whether a metric is a loss, by its name.
bool is_loss(std::string_view metric);

/// Returns the value of a metric if the run succeeded and the value is finite.
std::optional<double> metric_value(const AttemptRecord& record, const std::string& metric);
/// Returns whether a record holds only published statistics of other metrics: it is no run in a table of this metric.
bool is_published_of_others(const AttemptRecord& record, const std::string& metric);

/// Records of configurations or repeats that are not in the experiment file.
struct Orphans {
  std::size_t configurations = 0;
  std::size_t repeats = 0;  // runs beyond `repeats` of configurations in the plan
};
Orphans count_orphans(const Plan& plan, const std::vector<const AttemptRecord*>& attempts);
/// Returns the attempts without those repeats.
std::vector<const AttemptRecord*> asked_repeats(const Plan& plan, std::vector<const AttemptRecord*> attempts);

/// Returns the size of a run from its record alone: its gpus, ranks or nodes; 0 if unknown.
int size_on_record(const AttemptRecord& attempt, ScaleBy unit);

/// Summarises all configurations of the plan, in its order; after them, if `orphans`, those only on record. `set_aside`: for
/// Row::set_aside.
std::vector<Sample> collect_samples(const Plan& plan, const std::vector<const AttemptRecord*>& attempts,
                                    const MetricChoice& metric, const ReportSettings& settings, ScaleBy unit, bool orphans,
                                    const std::vector<const AttemptRecord*>& set_aside = {});

/// Finds each sample's baseline (a configuration of the plan, whose samples come first), and fills in speedup, efficiency and
/// Karp-Flatt. Appends notes for points without a baseline. InputError if no point has one, or one has two.
void compare_with_baselines(std::vector<Sample>& samples, const MetricChoice& metric, const Experiment& experiment,
                            const Plan& plan, bool whole_lists, std::vector<std::string>& notes);

/// Throws the InputErrors of compare_with_baselines for this plan, without making its rows, of which a large study has many.
void check_baselines(const Experiment& experiment, const Plan& plan);

/// Returns the estimator of all speedups, above 1 if the row is better: see docs/statistics.md, "Against the baseline". nullopt
/// without enough values, and for a rate per GPU without numbers of GPUs.
std::optional<Ratio> estimate_speedup(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                      const ReportSettings& settings);

/// Returns the positions in `measured` of both sides of the runs in complete blocks: of the same repeat and, if runs are
/// allocated in blocks, of the same allocation (this machine is one).
std::vector<std::pair<std::size_t, std::size_t>> paired_runs(const Sample& base, const Sample& sample,
                                                             const ReportSettings& settings);
/// Returns the values of those runs.
std::pair<std::vector<double>, std::vector<double>> complete_blocks(const Sample& base, const Sample& sample,
                                                                    const ReportSettings& settings);
/// Notes, if runs are allocated in blocks, what comparing within them gained, and the rows for which that was impossible.
void note_blocks(const std::vector<Sample>& samples, const ReportSettings& settings, std::vector<std::string>& notes);

// The functions of `report.rows`: docs/experiment-file.md, "Tables of sizes".

/// Returns the inner axis of this report's metric; nullopt if the metric is no series of this name.
std::optional<InnerAxis> inner_axis_of(const Experiment& experiment, const ReportOptions& options);
/// Makes the value at `report.at` that of the run, for all metrics of the series; a run without it gets no value and a warning.
void take_values_at(std::vector<AttemptRecord>& records, const Experiment& experiment);
/// InputError if runs have the series but none has a value there, with the existing values.
void require_value_at(const std::vector<const AttemptRecord*>& attempts, const InnerAxis& inner, const std::string& metric);
/// The inner rows of one configuration.
struct InnerRowsOfOne {
  std::map<Value, Row> rows;         // by the value of the inner axis
  std::map<Value, long long> order;  // of its words: the order in which the runs print them
};
using InnerRows = std::unordered_map<std::string, InnerRowsOfOne>;  // by config_id
/// Returns a row for each shown sample and each value of its runs, compared with the baseline's runs at the same value. None,
/// and a note, if there are too many values.
InnerRows collect_inner_rows(const std::vector<Sample>& samples, const std::vector<const Sample*>& shown,
                             const InnerAxis& inner, const MetricChoice& metric, const ReportSettings& settings,
                             bool has_speedup, std::vector<std::string>& notes);
/// Fills in Table::inner_rows, in the order of the table's rows; the rows at `at` are the table's own.
void append_inner_rows(Table& table, InnerRows inner_rows);

/// Returns whether the row's facts show already that no run of it has this fact; otherwise its runs must be checked.
bool lacks_fact(const Sample& sample, std::string_view name);
/// Returns a fact of the row's measured runs, from the first that has it; null if none has.
const std::string* find_fact(const Sample& sample, const std::string& name);
/// Returns that fact if it is one number.
std::optional<double> number_fact(const Sample& sample, const std::string& name);

// Values of a row besides the metric (docs/statistics.md, "What does not scale"). Each fills in fields of `sample.row`.

/// Fills in phases, rates, GPU-hours, MFU, and medians of `metric_columns`.
void measure_parts(Sample& sample, const ReportSettings& settings, const std::vector<std::string>& metric_columns);
/// Fills in losses by epoch, best epoch, gap, time to the target loss; times of ranks and their imbalance.
void measure_series(Sample& sample, const ReportSettings& settings);
/// Fills in the facts of its measured runs, or of all runs if none was measured. No measured run has further facts.
void gather_facts(Sample& sample);

/// Returns the size axes (see size_axes.hpp) that do not separate lines: without those that `unit` does not count if rows of
/// one size differ in them, like gpus_per_node beside nodes.
std::vector<std::string> axes_along_lines(std::vector<std::string> sizes, const Plan& plan, ScaleBy unit);
/// Fits Amdahl's or Gustafson's law to each set of shown rows that differ only in `sizes` (see size_axes.hpp).
std::vector<Fit> fit_scaling(const std::vector<const Sample*>& shown, const MetricChoice& metric,
                             const ReportSettings& settings, const std::vector<std::string>& columns,
                             const std::vector<std::string>& sizes);

/// Returns versions, commits, nodes and seeds behind the shown rows.
std::vector<ProvenanceRow> gather_provenance(const std::vector<const Sample*>& shown, const Plan& plan);

/// Summarises any metric of the successful runs; nullopt if none has it.
std::optional<Summary> summarise_metric(const Sample& sample, const std::string& metric, const Confidence& confidence);

/// Returns for each of `report.references` the matching samples of the plan, ascending. InputError if one matches none, unless
/// a profile or --set made the plan smaller.
std::vector<std::vector<std::size_t>> match_references(const Experiment& experiment, const Plan& plan);

struct LookProgress;  // looks.hpp

/// The input of the checks of a table.
struct WarningContext {
  const Experiment& experiment;
  int planned_repeats = 1;
  const std::vector<Sample>& samples;
  const std::vector<const Sample*>& shown;
  const std::vector<const AttemptRecord*>& attempts;
  const std::vector<std::string>& columns;  // axes that distinguish rows
  const MetricChoice& metric;
  const std::vector<std::vector<std::size_t>>& references;  // from match_references
  const std::vector<LookProgress>& looks;                   // from judge_looks; empty if another metric decides
  const std::vector<ChangedFile>& changed_files;
  bool whole_lists = false;  // as in ReportOptions
};

/// Writes the methods paragraph and the twelve rules from the runs and warnings. All else in `table` must be filled in.
void describe_methods(Table& table, const WarningContext& context);

/// Returns all warnings of docs/statistics.md, in its order.
std::vector<TableWarning> find_warnings(const WarningContext& context);

/// Returns whether imported results are among the measured runs of a row.
bool is_imported(const Sample& sample);

/// Returns the row's label, `strategy=ddp, nodes=2`: the axes of `columns`; the config_id if there are none.
std::string row_label(const std::vector<std::string>& columns, const Row& row);

/// Returns a count with its unit, `1 gpu`, `8 ranks`: `unit` is a plural, as in Table::scale_by.
std::string counted_size(const std::string& unit, int count);

/// Returns the title of tables and plots: the experiment's name, with `(simulated nodes)` if rows are such.
std::string table_title(const Table& table);

/// Returns the metric for titles: `latency_us at size = 16384` if there is an inner axis.
std::string shown_metric(const Table& table);

/// Returns the names as `A, B, C, and 4 more`; all of them with `whole`.
std::string list_some(const std::vector<std::string>& names, bool whole);

}  // namespace hpcbench
