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

/// One configuration with what was measured of it. Pointers are into the records of the report.
struct Sample {
  Row row;
  std::vector<const AttemptRecord*> runs;      // one a run, by number, without warm-ups
  std::vector<const AttemptRecord*> measured;  // those that succeeded and have the metric
  std::vector<double> values;                  // of `measured`, in the metric's unit
  std::vector<double> train_losses;
  int other_statistics = 0;             // published values that do not count, as the row shows runs or another statistic
  std::optional<std::size_t> baseline;  // index of the sample it is compared with; its own for a baseline
  int look = 0;  // of a study with looks: the last one that all its runs have reached, and later runs do not count yet

  bool counts(RunName run) const { return look == 0 || (run.is_repeat() && run.number <= look); }
};

/// Sorted by configuration and run. `records`: the attempt that counts of each run (RunHistory).
std::vector<const AttemptRecord*> sorted_attempts(const std::vector<AttemptRecord>& records);

struct MetricChoice {
  std::string name;
  std::string unit;
  bool is_time = false;     // in seconds: time limits censor it
  bool is_of_part = false;  // one point of a series, or less than half of the runs: no time limit says anything of it
  MetricKind kind = {Better::lower, true, false, ""};
  ScaleBy scale_by = ScaleBy::gpus;  // what Row::size counts

  bool is_compared() const { return kind.better.has_value(); }
  /// Whether a row as fast as its baseline for its size has the ratio 1: under weak scaling the work of a run grows with it.
  bool is_flat(Scaling scaling) const { return scaling == Scaling::weak && !kind.counts_work; }
};

/// --metric, else report.metric, else train_s or wall_s. InputError if runs succeeded and none of them has it, unless
/// `metric_may_be_absent`.
MetricChoice choose_metric(const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts,
                           const ReportOptions& options);

/// Converts the values of each metric to one unit: that of the file, else that of the plan's first run. InputError where the
/// metric of the report, or of its columns, has units that do not convert. `attempts`: those of `records` that count.
void unify_units(std::vector<AttemptRecord>& records, const std::vector<const AttemptRecord*>& attempts, const Plan& plan,
                 const Experiment& experiment, const ReportOptions& options);

/// Whether a metric is a loss, by its name.
bool is_loss(std::string_view metric);

/// The value of a metric where the run succeeded and the value is finite.
std::optional<double> metric_value(const AttemptRecord& record, const std::string& metric);
/// Whether it is a published statistic of other metrics alone: no run of a table of this one.
bool is_published_of_others(const AttemptRecord& record, const std::string& metric);

/// Records that the file does not ask for.
struct Orphans {
  std::size_t configurations = 0;
  std::size_t repeats = 0;  // runs beyond `repeats` of configurations that are asked for
};
Orphans count_orphans(const Plan& plan, const std::vector<const AttemptRecord*>& attempts);
/// The attempts without those repeats.
std::vector<const AttemptRecord*> asked_repeats(const Plan& plan, std::vector<const AttemptRecord*> attempts);

/// How large a run was, by its record alone: its gpus, ranks or nodes; 0 where that does not say.
int size_on_record(const AttemptRecord& attempt, ScaleBy unit);

/// Summaries of all configurations of the plan, in its order; after them, if `orphans`, those only on record. `set_aside`: what
/// Row::set_aside shows.
std::vector<Sample> collect_samples(const Plan& plan, const std::vector<const AttemptRecord*>& attempts,
                                    const MetricChoice& metric, const ReportSettings& settings, ScaleBy unit, bool orphans,
                                    const std::vector<const AttemptRecord*>& set_aside = {});

/// Finds each sample's baseline (one of the plan, whose samples come first), and fills in speedup, efficiency and Karp-Flatt.
/// Appends notes for points that have none. InputError if nothing has one, or one has two.
void compare_with_baselines(std::vector<Sample>& samples, const MetricChoice& metric, const Experiment& experiment,
                            const Plan& plan, bool whole_lists, std::vector<std::string>& notes);

/// InputError where compare_with_baselines would give one for this plan; without its rows, which a large study has many of.
void check_baselines(const Experiment& experiment, const Plan& plan);

/// The estimator of all speedups, above 1 where the row is better: see docs/statistics.md, "Against the baseline". Absent
/// without enough values, and of a rate per GPU without numbers of GPUs.
std::optional<Ratio> estimate_speedup(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                      const ReportSettings& settings);

/// Where in `measured` of both sides the runs of the blocks are in which both have a value: of the same repeat and, where runs
/// are allocated in blocks, of the same allocation (this machine is one).
std::vector<std::pair<std::size_t, std::size_t>> paired_runs(const Sample& base, const Sample& sample,
                                                             const ReportSettings& settings);
/// Their values.
std::pair<std::vector<double>, std::vector<double>> complete_blocks(const Sample& base, const Sample& sample,
                                                                    const ReportSettings& settings);
/// Where runs are allocated in blocks: what it gained to compare within them, and for which rows that was not possible.
void note_blocks(const std::vector<Sample>& samples, const ReportSettings& settings, std::vector<std::string>& notes);

// `report.rows`: docs/experiment-file.md, "Tables of sizes".

/// Of the metric that this report shows; absent if that is no series of this name.
std::optional<InnerAxis> inner_axis_of(const Experiment& experiment, const ReportOptions& options);
/// Makes the value at `report.at` that of the run, for all metrics of the series; a run without it has none, and a warning.
void take_values_at(std::vector<AttemptRecord>& records, const Experiment& experiment);
/// InputError where runs have the series and none has a value there, with the values that there are.
void require_value_at(const std::vector<const AttemptRecord*>& attempts, const InnerAxis& inner, const std::string& metric);
/// Of one configuration.
struct InnerRowsOfOne {
  std::map<Value, Row> rows;         // by the value of the inner axis
  std::map<Value, long long> order;  // of its words: as the runs print them
};
using InnerRows = std::unordered_map<std::string, InnerRowsOfOne>;  // by config_id
/// A row for each shown sample and value that its runs have, compared with the baseline's runs at the same value. None, and a
/// note, where there are too many values.
InnerRows collect_inner_rows(const std::vector<Sample>& samples, const std::vector<const Sample*>& shown,
                             const InnerAxis& inner, const MetricChoice& metric, const ReportSettings& settings,
                             bool has_speedup, std::vector<std::string>& notes);
/// Fills in Table::inner_rows, in the order of the table's rows; those at `at` are the table's own.
void append_inner_rows(Table& table, InnerRows inner_rows);

/// Whether the facts of the row tell already that no run of it has this one; otherwise its runs must be asked.
bool lacks_fact(const Sample& sample, std::string_view name);
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

/// Of the size axes (see size_axes.hpp) those that tell no line apart: without what `unit` does not count where rows of one
/// size differ in it, as gpus_per_node beside nodes.
std::vector<std::string> axes_along_lines(std::vector<std::string> sizes, const Plan& plan, ScaleBy unit);
/// Amdahl's or Gustafson's law for each set of shown rows that differ in `sizes` (see size_axes.hpp) only.
std::vector<Fit> fit_scaling(const std::vector<const Sample*>& shown, const MetricChoice& metric,
                             const ReportSettings& settings, const std::vector<std::string>& columns,
                             const std::vector<std::string>& sizes);

/// Versions, commits, nodes, seeds behind the shown rows.
std::vector<ProvenanceRow> gather_provenance(const std::vector<const Sample*>& shown, const Plan& plan);

/// Of any metric of the runs that succeeded; absent where none has it.
std::optional<Summary> summarise_metric(const Sample& sample, const std::string& metric, const Confidence& confidence);

/// For each of `report.references` the samples of the plan that it is about, ascending. InputError where one is about none, and
/// the plan is not one that a profile or --set made smaller.
std::vector<std::vector<std::size_t>> match_references(const Experiment& experiment, const Plan& plan);

struct LookProgress;  // looks.hpp

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
  const std::vector<LookProgress>& looks;                   // of judge_looks; empty where another metric decides
  const std::vector<ChangedFile>& changed_files;
  bool whole_lists = false;  // as in ReportOptions
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

/// What the rows are about, for titles: `latency_us at size = 16384` where there is an inner axis.
std::string shown_metric(const Table& table);

/// `A, B, C, and 4 more`; all of them with `whole`.
std::string list_some(const std::vector<std::string>& names, bool whole);

}  // namespace hpcbench
