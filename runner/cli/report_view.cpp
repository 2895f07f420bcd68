#include "cli/report_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "imports/import_runs.hpp"
#include "report/columns.hpp"
#include "study/index.hpp"
#include "study/kept/changed_program.hpp"
#include "study/preparing.hpp"

namespace hpcbench {

namespace {

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ',')) {
    if (const std::string_view name = trim(part); !name.empty()) names.emplace_back(name);
  }
  return names;
}

/// What the options say replaces what the file's `report` says.
void override_report(ReportSettings& report, const ViewOptions& options, const std::vector<std::string>& axes) {
  if (!options.columns.empty()) {
    report.columns.clear();
    for (const std::string& list : options.columns) {
      for (std::string& entry : split_columns(list)) report.columns.push_back(std::move(entry));
    }
  }
  if (!options.group_by.empty()) {
    report.group_by = split_names(options.group_by);
    for (const std::string& name : report.group_by) {
      if (std::find(axes.begin(), axes.end(), name) != axes.end()) continue;
      throw InputError(fmt::format("error: --group-by names `{}`, which is no axis{}; there are: {}", name,
                                   did_you_mean(name, axes), join(axes, ", ")));
    }
  }
  if (!options.sort.empty()) report.sort = split_names(options.sort);
  if (!options.where.empty()) {
    report.where.clear();
    report.where_if.reset();
  }
  if (!options.time_unit.empty()) report.time_unit = options.time_unit;
  if (!options.speedup_style.empty()) report.speedup_style = options.speedup_style == "x" ? "x" : "";
}

/// A table without a single run helps no reader; of broken imports, it shows what is left.
void refuse_empty_table(const Table& table, const Study& study, bool any_on_record) {
  const bool has_run = std::any_of(table.rows.begin(), table.rows.end(),
                                   [](const Row& row) { return !row.counts.outcomes.empty() || !row.set_aside.empty(); });
  if (has_run || !study.broken_imports.empty()) return;
  if (!any_on_record) refuse_without_results(study);
  throw UnavailableError(fmt::format(
      "error: no run on record in {} belongs to a shown configuration of {}\n  = `hpcbench report {} --orphans` shows runs of "
      "configurations that the file no longer has; `hpcbench plan {}` lists what is new",
      study.results, study.experiment.path, study.named(), study.named()));
}

}  // namespace

std::vector<std::string> split_columns(const std::string& text) {
  std::vector<std::string> entries(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      entries.back() += text[++i];
    } else if (text[i] == ',') {
      entries.emplace_back();
    } else {
      entries.back() += text[i];
    }
  }
  std::erase_if(entries, [](const std::string& entry) { return trim(entry).empty(); });
  if (entries.empty()) throw InputError("error: --columns names no column");
  return entries;
}

std::vector<ChangedFile> changed_files_of(const Study& study, const Store& store) {
  std::vector<ChangedFile> files;
  for (ProgramChange& change : changed_since_runs({study.experiment, study.plan, study.results}, store))
    files.push_back({change.text(), std::move(change.config_ids)});
  return files;
}

void add_view_options(commandline::Command& command, ViewOptions& options) {
  command.add_option("--metric", options.metric, "train_s, wall_s or any metric of the runs").value_name("NAME");
  command.add_option("--where", options.where, "only the rows that match: `strategy=ddp|fsdp`, or an expression")
      .value_name("AXIS=VALUE,...")
      .not_empty();
  command.add_option("--sort", options.sort, "axes, columns and metrics; `-median`: the largest first")
      .value_name("[-]NAME,...");
  command.add_option("--time-unit", options.time_unit, "s, min, h or h:mm:ss").one_of({"s", "min", "h", "h:mm:ss"});
  command.add_flag("--no-continued", options.no_continued, "leave out rows with runs that were continued in several segments");
  command.add_flag("--orphans", options.orphans, "also configurations on record that the file no longer asks for");
}

void add_table_options(commandline::Command& command, ViewOptions& options) {
  command
      .add_option(
          "--columns", options.columns,
          "axes, columns, metrics and fact:NAME, each with a heading of one's own if wanted: `strategy,median=Time (min)`")
      .value_name("NAME[=HEADING],...");
  command.add_option("--group-by", options.group_by, "a table for each combination of these axes").value_name("AXIS,...");
  command.add_option("--speedup-style", options.speedup_style, "plain: 2.72, x: 2.72x").one_of({"plain", "x"});
  command.add_flag("--methods", options.methods, "also say what was done, and which of twelve rules of reporting are met");
  command.add_flag("--provenance", options.provenance, "also list versions, commits, nodes and seeds");
}

Table view_study(Study& study, const StudyOptions& study_options, const ViewOptions& options) {
  override_report(study.experiment.report, options, study.plan.axes);
  ReportOptions report;
  if (!options.metric.empty()) report.metric = options.metric;
  if (!study_options.only.empty()) report.only.push_back(parse_selection(study_options.only, "--only"));
  if (!options.where.empty()) {
    report.only.push_back(parse_selection(options.where, "--where"));
    if (!options.orphans) select(study.plan, report.only.back());  // says what is wrong with it
  }
  report.orphans = options.orphans;
  report.no_continued = options.no_continued;
  report.whole_lists = options.whole_lists;
  take_in_imports(study);
  IndexView index = open_for_reading(study);
  report.tried_again = attempts_tried_again(study.experiment, index.states);
  report.set_aside = index.store.set_aside_attempts(study.experiment.name, false);
  if (!study.is_unpacked) report.changed_files = changed_files_of(study, index.store);
  std::vector<std::string> not_begun = not_begun_lines(study, counting_states(std::exchange(index.states, {})));
  std::vector<AttemptRecord> records = index.store.counting_attempts(study.experiment.name, true);
  const bool any_on_record = !records.empty();
  study.experiment.has_gpus = study.experiment.has_gpus || used_gpus(records);
  Table table = build_table(study.experiment, study.plan, std::move(records), report);
  refuse_empty_table(table, study, any_on_record);
  table.notes.insert(table.notes.end(), not_begun.begin(), not_begun.end());
  return table;
}

}  // namespace hpcbench
