#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/metric.hpp"
#include "base/name_map.hpp"
#include "base/state_counts.hpp"
#include "ingest/attempt_record.hpp"
#include "plan/plan.hpp"
#include "spec/experiment.hpp"
#include "stats/stats.hpp"

namespace hpcbench {

/// A file that runs executed and whose content differs now.
struct ChangedFile {
  std::string text;                     // `train.py changed since 6 of 12 runs`
  std::vector<std::string> config_ids;  // of these runs
};

struct ReportOptions {
  std::optional<std::string> metric;             // --metric
  std::vector<Selection> only;                   // a row matches all of them
  bool orphans = false;                          // also recorded configurations that are no longer in the file
  std::vector<std::string> metric_columns = {};  // metrics whose medians are added to `Row::metrics`
  std::vector<AttemptKey> tried_again = {};      // attempts that did not succeed and were followed by another
  std::vector<ChangedFile> changed_files = {};
  std::vector<AttemptRecord> set_aside = {};  // attempts that were set aside, sorted by key
  bool no_continued = false;                  // leaves out rows with a run of several segments
  bool all_repeats = false;                   // repeats beyond `repeats` count, too; `orphans` always includes them
  bool metric_may_be_absent = false;          // else InputError if runs succeeded and none has the metric
  bool whole_lists = false;                   // for programs: messages name all rows and values, not only the first few
};

struct RunValue {
  RunName run;
  int attempt = 1;
  State outcome = State::succeeded;
  std::optional<double> value;  // of the metric; only of a run that succeeded
  std::optional<double> started_unix_s, finished_unix_s, wall_s;
  std::string node;    // host names, joined by `,`; empty if unknown
  std::string source;  // of an imported run, for pages: `runs.csv:17`; else empty
  std::string
      reason;  // why it did not succeed; `nan: loss` if it did but these of its metrics are NaN or infinite; otherwise empty
  bool again = false;  // set aside by `run --again`, together with all ended runs of its row
};

/// The parts of a run in seconds, medians over the successful runs that record them.
struct Phases {
  std::optional<double> setup_s, data_s, train_s, eval_s, checkpoint_s, communication_s;
};

/// One epoch of a row: medians over the runs that have it.
struct EpochPoint {
  long long epoch = 0;  // from 1
  int n = 0;            // runs with one of the values
  std::optional<double> train_loss, val_loss, epoch_s;
};

/// One rank of a row, in seconds: medians over the runs that have it.
struct RankTimes {
  long long rank = 0;
  int n = 0;
  std::optional<double> train_s, user_s, sys_s, real_s;
};

/// The number of a row's runs by outcome.
struct RowCounts {
  int n = 0;         // succeeded with a value, and runs known to take longer than their limit
  int censored = 0;  // the latter
  int nan = 0;       // succeeded, but their metric or loss is NaN or infinite
  StateCounts outcomes;
  int tried_again = 0;   // needed more than one attempt: earlier ones did not succeed
  int continued = 0;     // have several segments
  int segments = 0;      // of those runs together
  int side_by_side = 1;  // runs of a block that could run at a time, including this row's
};

// Values besides the metric (docs/statistics.md, "What does not scale"): medians over the successful runs that record them.

/// The parts of a row's time.
struct RowTimes {
  Phases phases;
  std::vector<RankTimes> ranks;     // by rank; empty if no run records it
  std::optional<double> imbalance;  // largest rank / mean of the ranks, 1 = none
};

/// The amount of a row's work, and its cost.
struct RowWork {
  std::optional<double> samples_per_s, tokens_per_s;
  bool rates_written = false;            // by the runs themselves, not computed from their samples and times
  std::optional<double> gpu_hours;       // gpus x wall_s, summed over the counting runs, whatever their outcome
  std::map<State, double> gpu_hours_of;  // the same by outcome
  std::optional<double> mfu;             // share of `peak_tflops`, 0 to 1
};

/// The learning curve of a row.
struct RowLosses {
  std::optional<double> train_loss, validation_loss;
  std::vector<EpochPoint> curve;             // by epoch; empty without epochs
  std::optional<long long> best_epoch;       // of the lowest val_loss of `curve`
  std::optional<double> generalisation_gap;  // val_loss - train_loss of the last epoch that has both
  std::optional<long long> overfits_from;    // the first epoch after the best one, if val_loss rises while train_loss falls
  std::optional<double> time_to_target_s;    // until the loss is at most Table::target_loss; nullopt if half the runs miss it
  int reached_target = 0;                    // runs that reached it
};

struct Row {
  std::string config_id;
  Bindings axes;
  Bindings derived;  // computed values, for rows of the plan
  int gpus = 1;
  int size = 1;  // in Table::scale_by; 0: unknown
  RowCounts counts;
  /// Over the n runs, with censored runs at their limit: a bound that equals `censored_at_s` means `more than`; a third
  /// quartile between a run and such a limit is not a number.
  /// nullopt if half of them or more are censored.
  std::optional<Summary> summary;
  std::optional<double> censored_at_s;  // all or some runs reached this limit: `>7200`
  std::string statistic;                // `median`: the value is a published statistic of n runs, not a run
  std::optional<Ratio> speedup;         // low = 0 if censored runs leave no lower bound
  std::optional<double> speedup_below;  // if half or more are censored: `<1.3`
  std::optional<double> ratio_of_medians, efficiency, karp_flatt;
  bool is_baseline = false;
  std::vector<std::string> warnings;  // codes
  std::vector<RunValue> runs;         // without warm-ups, by number
  std::vector<RunValue> set_aside;    // attempts set aside, by run, with their `reason`; they count nowhere else
  std::set<std::string> nodes;        // distinct nodes of the runs with a value, else of all; empty: unknown
  bool nodes_of_slurm = false;        // Slurm chose them for each job
  std::string source = "measured";    // or `imported`, or `measured, imported`
  /// Facts that the runs behind the row share; if they differ, the distinct values joined by `|`.
  NameMap<std::string> facts;
  std::map<std::string, double> metrics;  // metrics of ReportOptions::metric_columns that a run has
  RowTimes times;
  RowWork work;
  RowLosses losses;

  /// Returns how many runs have an attempt that was set aside, and how many of these have no counting attempt.
  int runs_set_aside() const;
  int runs_left_out() const;
};

/// One point of a fit, measured or extrapolated.
struct FitPoint {
  int size = 1;  // in Table::scale_by
  std::optional<double>
      speedup;  // measured: median on 1 gpu (or rank ...) / median here, both of the fitted rows; nullopt: extrapolated
  double fitted = 1;
  std::optional<double> residual;  // speedup - fitted
};

/// Amdahl's or Gustafson's law fitted to rows that differ only in their number of gpus and in axes that vary together with it.
struct Fit {
  std::string law;    // `amdahl`, `gustafson` (weak scaling)
  std::string label;  // `strategy=ddp, precision=fp32`: the axes that the rows share
  double serial_fraction = 0;
  double residual_rms = 0;             // root of the mean square residual over the degrees of freedom
  int degrees_of_freedom = 1;          // distinct numbers of gpus besides 1, minus the one fitted parameter
  std::vector<FitPoint> points;        // measured, by gpus
  std::vector<FitPoint> extrapolated;  // beyond the largest measured; every output must mark them as extrapolated
};

/// A version or other source of the numbers: `torch` -> 2.8.0, `commit` -> ..., each with its distinct values, sorted.
struct ProvenanceRow {
  std::string name;
  std::vector<std::string> values;
};

enum class RuleVerdict { met, not_met, not_applicable };
/// One of the twelve rules of Hoefler and Belli (SC 2015).
struct ReportingRule {
  int number = 1;
  std::string rule;
  RuleVerdict verdict = RuleVerdict::met;
  std::string reason;
};

// Warning codes used outside report/warnings.
inline constexpr const char* kNoSuccess = "no-success";
inline constexpr const char* kSimulatedNodes = "simulated-nodes";

struct TableWarning {
  std::string code;
  std::vector<std::string> rows;  // config_ids
  std::string seen, why, advice;
};

/// A drawn plot, for formats that can contain pictures.
struct PlotPicture {
  std::string name;  // `speedup`
  std::string title;
  std::string svg;
};

/// LaTeX's settings for tables; other formats ignore them.
struct LatexStyle {
  bool table_only = false;  // the tables without the text around them
  std::string caption;      // replaces the experiment's name and description, unless empty
  std::string label;        // for \ref, in TeX's harmless characters (is_latex_label); empty: none
  std::string font;         // one of latex_fonts(); empty: the document's
  std::string width;        // `text` or `column`: the maximum width, to which a wide table shrinks; empty: as wide as its cells
};

/// A report as values: every format prints the same rows from it.
struct Table {
  std::string experiment;
  std::string description;
  std::string metric;
  std::string unit;       // of `metric`: `s` ...; empty if unknown
  std::string time_unit;  // unit of seconds in text tables: s, min, h
  double confidence = 0.95;
  std::vector<int> looks;  // numbers of runs for which it holds jointly; empty: one look
  Condition baseline;
  MetricKind kind = {Better::lower, true, false, ""};  // which values of the metric are better
  bool has_speedup = false;                            // there is a baseline, and it is known which values are better
  bool is_flat = false;          // weak scaling, and the work of one value grows with the size: the ideal speedup is 1
  bool simulated_nodes = false;  // rows of several nodes ran on one machine: titles state it
  bool paired = false;
  Scaling scaling = Scaling::fixed_work;
  bool has_gpus = true;                      // else no output mentions GPUs
  std::string scale_by = "gpus";             // the unit of Row::size: gpus, ranks, nodes, cores
  std::vector<std::string> axes;             // all, `strategy` first: the columns of csv
  std::vector<std::string> derived;          // computed values; and those that vary,
  std::vector<std::string> derived_columns;  // which are shown beside the axes and do not distinguish rows
  std::vector<std::string> columns;          // the varied ones among them
  /// Axes of a row's size, and axes that vary together with them; rows that differ only in these are one line of a plot and one
  /// fit: see axes_along_lines (samples.hpp).
  std::vector<std::string> size_axes = {"nodes", "gpus_per_node"};
  std::vector<std::string> shown_columns;  // of text and markdown, named as in report.columns; empty: the usual ones
  std::vector<std::string> group_by;       // axes whose combinations each get a table in text and markdown
  int planned_repeats = 0;                 // runs of each configuration; 0: unknown, or not fixed
  std::vector<Row> rows;
  std::optional<InnerAxis> inner;  // report.rows: each row shows the value at `at`,
  /// and has a row here for each value of it, the last of `axes`: those of one row together, ascending. The row at `at` has
  /// everything that the table's row has; others have n, summary, speedup and the runs' values. Empty without an inner axis.
  std::vector<Row> inner_rows;
  std::vector<TableWarning> warnings;
  std::vector<std::string> notes;
  std::optional<double> peak_tflops;  // of one gpu: the denominator of `mfu`
  std::optional<double> target_loss;  // for `time_to_target_s`: val_loss, or train_loss without validation
  std::vector<Fit> fits;
  std::string methods;                    // a paragraph on the methods, from the runs; printed with --methods
  std::vector<ReportingRule> rules;       // twelve; printed with --methods
  std::vector<ProvenanceRow> provenance;  // sorted by name; printed with --provenance
  std::string speedup_style;              // `x`: 2.72x; else 2.72
};

/// Which parts of a table a format prints, and how.
struct PrintSettings {
  bool columns_asked = false;  // Table::shown_columns are for this one report: csv has them, too
  bool methods = false;        // json always has these
  bool provenance = false;
  int terminal_columns = 0;  // of text: usual columns that do not fit are omitted and named; 0: all
  LatexStyle latex;
  // For HTML:
  std::string page_template;       // templates/report.html.mustache
  std::string runs_path;           // from the report's folder to results/EXPERIMENT, for links; empty: no links
  std::string runs_note;           // why there are none
  std::vector<PlotPicture> plots;  // drawn by the caller
  std::string plots_note;          // why there are none
};

/// Throws the errors of build_table for this plan before anything has run, without a row for each of a million configurations.
void check_report(const Experiment& experiment, const Plan& plan);

/// Returns whether a run recorded GPUs: its trainer, imported files or samples. Experiment::has_gpus must then be true.
bool used_gpus(const std::vector<AttemptRecord>& records);

/// Builds the table. `records`: the counting attempts of the experiment, in any order. Rows: the plan's configurations in its
/// order (then report.sort), also those without a record; speedups are of the whole plan, whatever is shown. InputError, with
/// the valid names, for a metric, axis or column that does not exist, and for a baseline that matches no row or several.
Table build_table(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records,
                  const ReportOptions& options);

/// Returns TeX's text sizes up to the document's own: `tiny` ... `normalsize`.
const std::vector<std::string>& latex_fonts();

/// Returns whether TeX accepts the text as a label unchanged: letters, digits and `: . - _ / +`.
bool is_latex_label(const std::string& text);

/// A format of reports: `text`, `markdown`, `latex`, `html`, `csv`, `json`. Deterministic bytes.
struct ReportFormat {
  std::string name;
  std::string ending;  // of files in this format: `.md`
  std::string description;
  std::string (*print)(const Table& table, const PrintSettings& settings);
};
const std::vector<ReportFormat>& report_formats();

}  // namespace hpcbench
