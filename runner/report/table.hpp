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
  std::optional<double> value;  // of the metric
};

struct Row {
  std::string config_id;
  Bindings axes;
  int gpus = 1;
  std::optional<Summary> summary;
  std::optional<Ratio> speedup;
  std::optional<double> ratio_of_medians, efficiency, karp_flatt, train_loss, validation_loss;
  std::map<State, int> outcomes;
  std::optional<double> censored_at_s;          // all or some runs hit this limit: `>7200`
  std::optional<double> speedup_below;          // from censored runs: `<1.3`
  std::vector<std::string> warnings;            // codes
  std::vector<RunValue> runs;
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
  std::string unit;       // of `metric`: `s` ...
  std::string time_unit;  // in which text tables print seconds: s, min, h
  double confidence = 0.95;
  Condition baseline;
  std::vector<std::string> columns;  // the varied axes
  std::vector<Row> rows;
  std::vector<TableWarning> warnings;
  std::vector<std::string> notes;
};

/// `records`: the counting attempts of the experiment. Rows: the plan's configurations in its order (then report.sort), those
/// without any record too. InputError for a metric that nothing has, with those there are.
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
