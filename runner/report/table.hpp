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
  bool orphans = false;                          // also configurations on record that the file no longer asks for
  std::vector<std::string> metric_columns = {};  // names of metrics whose medians the rows shall have in `Row::metrics`
  std::vector<AttemptKey> tried_again = {};      // attempts that did not succeed and were followed by another
  std::vector<ChangedFile> changed_files = {};
  std::vector<AttemptRecord> set_aside = {};  // attempts that were set aside, sorted by key
  bool no_continued = false;                  // leaves out rows with a run of several segments
  bool all_repeats = false;                   // repeats beyond `repeats` count, too; `orphans` has them in any case
  bool metric_may_be_absent = false;          // else InputError where runs succeeded and none has the metric
  bool whole_lists = false;                   // for programs: messages name all rows and values, not the first few
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
      reason;  // why it did not succeed; `nan: loss` where it did and these of its metrics are NaN or infinite; else empty
  bool again = false;  // set aside by `run --again`, with all runs of its row that had ended
};

/// The parts of a run in seconds, medians over the runs that succeeded and say it.
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

/// How many runs of a row ended in which way.
struct RowCounts {
  int n = 0;         // succeeded with a value, and those known to take longer than their limit
  int censored = 0;  // the latter
  int nan = 0;       // succeeded, and their metric or loss came out NaN or infinite
  StateCounts outcomes;
  int tried_again = 0;   // needed more than one attempt: earlier ones did not succeed
  int continued = 0;     // have several segments
  int segments = 0;      // of those runs together
  int side_by_side = 1;  // runs of a block that could run at a time, those of this row among them
};

// Beside the metric (docs/statistics.md, "What does not scale"): medians over the runs that succeeded and record it.

/// The parts of a row's time.
struct RowTimes {
  Phases phases;
  std::vector<RankTimes> ranks;     // by rank; empty if no run records it
  std::optional<double> imbalance;  // largest rank / mean of the ranks, 1 = none
};

/// How much work a row did, and what it cost.
struct RowWork {
  std::optional<double> samples_per_s, tokens_per_s;
  bool rates_written = false;            // by the runs themselves, not computed from their samples and times
  std::optional<double> gpu_hours;       // gpus x wall_s, summed over the runs that count, whatever their outcome
  std::map<State, double> gpu_hours_of;  // the same by outcome
  std::optional<double> mfu;             // share of `peak_tflops`, 0 to 1
};

/// How a row learnt.
struct RowLosses {
  std::optional<double> train_loss, validation_loss;
  std::vector<EpochPoint> curve;             // by epoch; empty without epochs
  std::optional<long long> best_epoch;       // of the lowest val_loss of `curve`
  std::optional<double> generalisation_gap;  // val_loss - train_loss of the last epoch that has both
  std::optional<long long> overfits_from;    // the first epoch after the best one, if val_loss rises while train_loss falls
  std::optional<double> time_to_target_s;    // until the loss is at most Table::target_loss; absent if half the runs miss it
  int reached_target = 0;                    // runs that got there
};

struct Row {
  std::string config_id;
  Bindings axes;
  Bindings derived;  // computed values; of what the plan asks for
  int gpus = 1;
  int size = 1;  // what Table::scale_by counts; 0: not known
  RowCounts counts;
  /// Of the n runs, those censored counted at their limit: a bound that equals `censored_at_s` means `more than`;
  /// a third quartile between a run and such a limit is not a number.
  /// Absent where half of them or more are censored.
  std::optional<Summary> summary;
  std::optional<double> censored_at_s;  // all or some runs hit this limit: `>7200`
  std::string statistic;                // `median`: the value is a published statistic of n runs, not a run
  std::optional<Ratio> speedup;         // low = 0 where censored runs leave no lower bound
  std::optional<double> speedup_below;  // where half or more are censored: `<1.3`
  std::optional<double> ratio_of_medians, efficiency, karp_flatt;
  bool is_baseline = false;
  std::vector<std::string> warnings;  // codes
  std::vector<RunValue> runs;         // without warm-ups, by number
  std::vector<RunValue> set_aside;    // attempts that were set aside, by run; `reason` is why. They count in nothing else
  std::set<std::string> nodes;        // distinct ones of the runs that have a value, else of all; empty: unknown
  bool nodes_of_slurm = false;        // Slurm chose them, for each job again
  std::string source = "measured";    // or `imported`, or `measured, imported`
  /// Facts that the runs behind the row share; where they differ, the distinct values joined by `|`.
  NameMap<std::string> facts;
  std::map<std::string, double> metrics;  // those of ReportOptions::metric_columns that a run has
  RowTimes times;
  RowWork work;
  RowLosses losses;

  /// How many runs have an attempt that was set aside, and how many of them have none that counts.
  int runs_set_aside() const;
  int runs_left_out() const;
};

/// One point of a fit, measured or extrapolated.
struct FitPoint {
  int size = 1;  // in Table::scale_by
  std::optional<double>
      speedup;  // measured: median on 1 gpu (or rank ...) / median here, both of the fitted rows; absent: extrapolated
  double fitted = 1;
  std::optional<double> residual;  // speedup - fitted
};

/// Amdahl's or Gustafson's law fitted to rows that differ in their number of gpus, and in what varies together with it, only.
struct Fit {
  std::string law;    // `amdahl`, `gustafson` (weak scaling)
  std::string label;  // `strategy=ddp, precision=fp32`: the axes that the rows share
  double serial_fraction = 0;
  double residual_rms = 0;             // root of the mean square residual over the degrees of freedom
  int degrees_of_freedom = 1;          // distinct numbers of gpus beside 1, less the one fitted number
  std::vector<FitPoint> points;        // measured, by gpus
  std::vector<FitPoint> extrapolated;  // beyond the largest measured: to be marked as such wherever it is shown
};

/// What stands behind the numbers: `torch` -> 2.8.0, `commit` -> ..., each with its distinct values, sorted.
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

// Codes of warnings that others than the warnings' own room ask about.
inline constexpr const char* kNoSuccess = "no-success";
inline constexpr const char* kSimulatedNodes = "simulated-nodes";

struct TableWarning {
  std::string code;
  std::vector<std::string> rows;  // config_ids
  std::string seen, why, advice;
};

/// A picture of a plot for formats that hold pictures.
struct PlotPicture {
  std::string name;  // `speedup`
  std::string title;
  std::string svg;
};

/// How LaTeX sets the tables; other formats have no place for it.
struct LatexStyle {
  bool table_only = false;  // the tables without the text around them
  std::string caption;      // in place of the experiment's name and description; empty: these
  std::string label;        // for \ref, of TeX's harmless characters (is_latex_label); empty: none
  std::string font;         // one of latex_fonts(); empty: that of the document
  std::string width;        // `text` or `column`: no table is wider, a wide one shrinks; empty: as wide as its cells
};

/// A report as values: every format prints the same rows from it.
struct Table {
  std::string experiment;
  std::string description;
  std::string metric;
  std::string unit;       // of `metric`: `s` ...; empty if unknown
  std::string time_unit;  // in which text tables print seconds: s, min, h
  double confidence = 0.95;
  std::vector<int> looks;  // over which it holds, as numbers of runs; empty: one look
  Condition baseline;
  MetricKind kind = {Better::lower, true, false, ""};  // which values of the metric are better
  bool has_speedup = false;                            // there is a baseline, and one of two values is known to be better
  bool is_flat = false;          // weak scaling, and the work of one value grows with the size: the ideal speedup is 1
  bool simulated_nodes = false;  // rows of several nodes ran on one machine: titles say so
  bool paired = false;
  Scaling scaling = Scaling::fixed_work;
  bool has_gpus = true;                      // else no output speaks of GPUs
  std::string scale_by = "gpus";             // what Row::size counts: gpus, ranks, nodes, cores
  std::vector<std::string> axes;             // all, `strategy` first: what csv prints
  std::vector<std::string> derived;          // computed values; and those that vary,
  std::vector<std::string> derived_columns;  // which stand beside the axes and tell no rows apart
  std::vector<std::string> columns;          // the varied ones among them
  /// Those that say how large a row is, and what varies together with them; rows that differ in these only are one line of a
  /// plot and one fit: see axes_along_lines (samples.hpp).
  std::vector<std::string> size_axes = {"nodes", "gpus_per_node"};
  std::vector<std::string> shown_columns;  // of text and markdown, as report.columns names them; empty: the usual ones
  std::vector<std::string> group_by;       // axes whose combinations get a table each in text and markdown
  int planned_repeats = 0;                 // runs of each configuration; 0: unknown, or not fixed
  std::vector<Row> rows;
  std::optional<InnerAxis> inner;  // report.rows: each row shows the value at `at`,
  /// and has a row here for each value of it, which stands last among `axes`: those of one row together, ascending. The one at
  /// `at`, always there, has all that the row has; others have n, summary, speedup and the values of runs. Empty without.
  std::vector<Row> inner_rows;
  std::vector<TableWarning> warnings;
  std::vector<std::string> notes;
  std::optional<double> peak_tflops;  // of one gpu: what `mfu` is a share of
  std::optional<double> target_loss;  // of `time_to_target_s`: val_loss, or train_loss where there is no validation
  std::vector<Fit> fits;
  std::string methods;                    // a paragraph: what was done, as the runs say; printed with --methods
  std::vector<ReportingRule> rules;       // twelve; printed with --methods
  std::vector<ProvenanceRow> provenance;  // sorted by name; printed with --provenance
  std::string speedup_style;              // `x`: 2.72x; else 2.72
};

/// The parts of a table that one call of a format shows, and how.
struct PrintSettings {
  bool columns_asked = false;  // Table::shown_columns were named for this one report: csv has them, too
  bool methods = false;        // json has these always
  bool provenance = false;
  int terminal_columns = 0;  // of text: usual columns that do not fit are left out and named; 0: all
  LatexStyle latex;
  // For HTML:
  std::string page_template;       // templates/report.html.mustache
  std::string runs_path;           // from the report's folder to results/EXPERIMENT, for links; empty: no links
  std::string runs_note;           // why there are none
  std::vector<PlotPicture> plots;  // drawn by the caller
  std::string plots_note;          // why there are none
};

/// What build_table would refuse of this plan before anything has run: a million configurations are checked without a row each.
void check_report(const Experiment& experiment, const Plan& plan);

/// Whether a run recorded GPUs: its trainer, its imported files, or samples of them. Experiment::has_gpus must be true then.
bool used_gpus(const std::vector<AttemptRecord>& records);

/// `records`: the counting attempts of the experiment, in any order. Rows: the plan's configurations in its order (then
/// report.sort), those without any record too; speedups are of the whole plan, whatever of it is shown. InputError for a
/// metric that nothing has, with those there are; for an axis or column that is none; for a baseline that is none or ambiguous.
Table build_table(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records,
                  const ReportOptions& options);

/// TeX's sizes of text up to the document's own: `tiny` ... `normalsize`.
const std::vector<std::string>& latex_fonts();

/// Whether TeX takes it as a label unchanged: letters, digits and `: . - _ / +`.
bool is_latex_label(const std::string& text);

/// One row a format: `text`, `markdown`, `latex`, `html`, `csv`, `json`. Deterministic bytes.
struct ReportFormat {
  std::string name;
  std::string ending;  // of files in this format: `.md`
  std::string description;
  std::string (*print)(const Table& table, const PrintSettings& settings);
};
const std::vector<ReportFormat>& report_formats();

}  // namespace hpcbench
