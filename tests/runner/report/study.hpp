#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "report/table.hpp"

namespace hpcbench {

/// A study made by hand: what the stages before would have handed over.
struct MadeStudy {
  Experiment experiment;
  Plan plan;
  std::vector<AttemptRecord> records;

  /// Adds a configuration: its values in the order of plan.axes, as they stand in a file.
  std::size_t add_configuration(const std::vector<std::string>& values) {
    Configuration configuration;
    configuration.id = "000000000000000" + std::string(1, static_cast<char>('a' + plan.configurations.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      configuration.values.push_back(Value::from_plain(values[i]));
      const int number = static_cast<int>(configuration.values[i].integer().value_or(0));
      if (plan.axes[i] == "nodes") configuration.nodes = number;
      if (plan.axes[i] == "gpus_per_node") configuration.gpus_per_node = number;
    }
    plan.configurations.push_back(configuration);
    return plan.configurations.size() - 1;
  }

  /// Adds a run that succeeded. `start` in minutes; it ends before the next minute.
  AttemptRecord& add_run(std::size_t configuration, int number, double train_s, double start) {
    const Configuration& of = plan.configurations[configuration];
    AttemptRecord record;
    record.experiment = experiment.name;
    record.key = {of.id, {RunKind::repeat, number}, 1};
    record.axes = plan.bindings(of);
    record.gpus = of.gpus();
    record.state = State::succeeded;
    record.node = "node1";
    record.started_unix_s = 1000 + 60 * start;
    record.finished_unix_s = 1000 + 60 * start + 50;
    record.metrics = {
        {"train_s", train_s}, {"wall_s", train_s + 2}, {"train_loss", 0.25}, {"val_loss", 0.5}, {"accuracy", 0.9}};
    record.facts = {{"precision", "fp32"}, {"global_batch", "64"}, {"samples", "48000"}};
    records.push_back(std::move(record));
    return records.back();
  }

  /// Adds repeats 1, 2 ... of a configuration; with `stride` configurations in turn, this one at `offset`.
  void add_runs(std::size_t configuration, const std::vector<double>& times, int offset, int stride) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      add_run(configuration, static_cast<int>(i) + 1, times[i], static_cast<double>(i) * stride + offset);
    }
  }

  Table table(const ReportOptions& options = {}) const { return build_table(experiment, plan, records, options); }
};

// Medians 12.5 and 6.4; speedup 1.9859 with [10/6.2, 15/6.2], as worked out in tests/runner/stats.
inline const std::vector<double> kBaselineRuns = {12, 10, 15, 11, 14, 13};
inline const std::vector<double> kDdpRuns = {6.2, 7.3, 5.0, 7.1, 5.5, 6.6};

/// strategy x gpus_per_node with nothing measured yet: `baseline` on 1 gpu and `ddp` on 2.
inline MadeStudy empty_study() {
  MadeStudy study;
  study.experiment.name = "digits";
  study.experiment.path = "digits.yaml";
  study.experiment.description = "an RNN on handwritten digits";
  study.experiment.work.trainer = "mnist_rnn";
  study.experiment.baseline = {{"strategy", {Value::from_plain("baseline")}}};
  study.plan.axes = {"nodes", "gpus_per_node", "strategy"};
  study.plan.varied = {"gpus_per_node", "strategy"};
  study.plan.repeats = 6;
  study.add_configuration({"1", "1", "baseline"});
  study.add_configuration({"1", "2", "ddp"});
  return study;
}

/// The same with six runs each, in turn: nothing to warn of.
inline MadeStudy clean_study() {
  MadeStudy study = empty_study();
  study.add_runs(0, kBaselineRuns, 0, 2);
  study.add_runs(1, kDdpRuns, 1, 2);
  return study;
}

inline std::vector<std::string> codes_of(const Table& table) {
  std::vector<std::string> codes;
  for (const TableWarning& warning : table.warnings) codes.push_back(warning.code);
  return codes;
}

inline bool warns(const Table& table, const std::string& code) {
  const auto codes = codes_of(table);
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

inline const TableWarning& warning_of(const Table& table, const std::string& code) {
  for (const TableWarning& warning : table.warnings) {
    if (warning.code == code) return warning;
  }
  FAIL("no warning " << code);
  return table.warnings.front();
}

/// Baseline runs are records 0 to 5, those of ddp 6 to 11.
inline void set_metric(MadeStudy& study, std::size_t first, const std::string& name, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) study.records[first + i].metrics[name] = values[i];
}

inline const std::string kDdpId = "000000000000000b";

inline std::string print_as(const Table& table, const std::string& format, PrintSettings settings = {}) {
  if (format == "html")
    settings.page_template = read_file(std::string(HPCBENCH_SOURCE_DIR) + "/templates/report.html.mustache");
  for (const ReportFormat& known : report_formats()) {
    if (known.name == format) return known.print(table, settings);
  }
  FAIL("no such format: " << format);
  return "";
}

}  // namespace hpcbench
