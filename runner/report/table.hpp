#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ingest/attempt_record.hpp"
#include "plan/plan.hpp"
#include "spec/experiment.hpp"
#include "stats/stats.hpp"

namespace hpcbench {

struct ReportOptions {
  std::optional<std::string> metric;  // --metric
  Condition only;
  bool orphans = false;  // also configurations on record that the file no longer asks for
};

struct RunValue {
  RunName run;
  int attempt = 1;
  State outcome = State::succeeded;
  std::optional<double> value;  // of the metric; only of a run that succeeded
};

struct Row {
  std::string config_id;
  Bindings axes;
  int gpus = 1;
  int n = 0;         // runs that succeeded with a value, and those known to take longer than their limit
  int censored = 0;  // the latter
  /// Of the n runs, those censored counted at their limit: a bound that equals `censored_at_s` means `more than`.
  /// Absent where half of them or more are censored.
  std::optional<Summary> summary;
  std::optional<Ratio> speedup;  // low = 0 where censored runs leave no lower bound
  std::optional<double> ratio_of_medians, efficiency, karp_flatt, train_loss, validation_loss;
  std::map<State, int> outcomes;
  std::optional<double> censored_at_s;  // all or some runs hit this limit: `>7200`
  std::optional<double> speedup_below;  // where half or more are censored: `<1.3`
  std::vector<std::string> warnings;    // codes
  std::vector<RunValue> runs;           // without warm-ups, by number
  bool is_baseline = false;
};

struct TableWarning {
  std::string code;
  std::vector<std::string> rows;  // config_ids
  std::string seen, why, advice;
};

/// A report as values: every format prints the same rows from it.
struct Table {
  std::string experiment;
  std::string description;
  std::string metric;
  std::string unit;       // of `metric`: `s` ...; empty if nobody said
  std::string time_unit;  // in which text tables print seconds: s, min, h
  double confidence = 0.95;
  Condition baseline;
  bool has_speedup = false;  // there is a baseline, and the metric is a time
  bool paired = false;
  Scaling scaling = Scaling::fixed_work;
  std::vector<std::string> axes;           // all, `strategy` first: what csv prints
  std::vector<std::string> columns;        // the varied ones among them
  std::vector<std::string> shown_columns;  // of text and markdown, as report.columns names them; empty: the usual ones
  std::vector<std::string> group_by;       // axes whose combinations get a table each in text and markdown
  std::vector<Row> rows;
  std::vector<TableWarning> warnings;
  std::vector<std::string> notes;
};

/// `records`: the counting attempts of the experiment, in any order. Rows: the plan's configurations in its order (then
/// report.sort), those without any record too; speedups are of the whole plan, whatever of it is shown. InputError for a
/// metric that nothing has, with those there are; for an axis or column that is none; for a baseline that is none or ambiguous.
Table build_table(const Experiment& experiment, const Plan& plan, const std::vector<AttemptRecord>& records,
                  const ReportOptions& options);

/// One row a format: `text`, `markdown`, `csv`, `json`. Deterministic bytes.
struct ReportFormat {
  std::string name;
  std::string description;
  std::string (*print)(const Table& table);
};
const std::vector<ReportFormat>& report_formats();

}  // namespace hpcbench
