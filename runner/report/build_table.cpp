#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/size_axes.hpp"
#include "report/columns.hpp"
#include "report/looks.hpp"
#include "report/methods.hpp"
#include "report/samples.hpp"
#include "report/table.hpp"

namespace hpcbench {
namespace {

void require_axes(const std::vector<std::string>& names, const std::vector<std::string>& axes, std::string_view where) {
  for (const std::string& name : names) {
    if (std::find(axes.begin(), axes.end(), name) != axes.end()) continue;
    throw InputError(fmt::format("error: {} names `{}`, which is no axis{}; there are: {}", where, name,
                                 did_you_mean(name, axes), join(axes, ", ")));
  }
}

std::vector<std::string> names_of(const Condition& condition) {
  std::vector<std::string> names;
  for (const auto& [name, values] : condition) names.push_back(name);
  return names;
}

[[noreturn]] void refuse_empty_report() {
  throw InputError("error: no configuration is left to report; remove conditions in --only, --where and report.where");
}

/// Returns axes and computed values: the names in conditions.
Bindings point_of(const Row& row) {
  Bindings point = row.axes;
  point.insert(point.end(), row.derived.begin(), row.derived.end());
  return point;
}

/// Leaves out the rows for which an expression is not true, and rows outside the plan, for which it is unknown.
void keep_where(std::vector<bool>& shown, const Plan& plan, const LocatedExpression& where) {
  const std::vector<std::size_t> rows = configurations_where(plan, where);
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = shown[i] && std::binary_search(rows.begin(), rows.end(), i);
}

/// Returns the shown samples: those of the plan first, in its order.
std::vector<const Sample*> select_rows(const std::vector<Sample>& samples, const Plan& plan, const ReportSettings& settings,
                                       const ReportOptions& options) {
  const std::vector<Selection>& only = options.only;
  std::vector<bool> chosen(samples.size(), true);
  if (settings.where_if) keep_where(chosen, plan, *settings.where_if);
  for (const Selection& each : only) {
    if (each.expression) keep_where(chosen, plan, *each.expression);
  }
  std::vector<const Sample*> shown;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Bindings point = point_of(samples[i].row);
    const bool matching =
        chosen[i] && matches(settings.where, point) && !(options.no_continued && samples[i].row.counts.continued > 0) &&
        std::all_of(only.begin(), only.end(), [&](const Selection& each) { return matches(each.condition, point); });
    if (matching) shown.push_back(&samples[i]);
  }
  if (shown.empty()) refuse_empty_report();
  return shown;
}

/// Returns the axes and computed values of a plan: the names by which tables may refer to a point.
std::vector<std::string> point_names(const Plan& plan) {
  std::vector<std::string> names = plan.axes;
  names.insert(names.end(), plan.derived.begin(), plan.derived.end());
  return names;
}

/// Returns names that report.columns and report.sort may use besides axes and columns; collects metrics only if such a name
/// occurs.
std::vector<std::string> known_metrics(const Experiment& experiment, const Plan& plan,
                                       const std::vector<const AttemptRecord*>& attempts) {
  const std::vector<std::string> axes = point_names(plan);
  const std::string scale_by = to_string(experiment.scale_by());
  if (metrics_among(experiment.report.columns, axes, scale_by).empty() &&
      metrics_sorted_by(experiment.report.sort, axes, scale_by).empty())
    return {};
  std::set<std::string> names;
  for (const std::vector<Metric>* declared : {&experiment.work.metrics, &experiment.described}) {
    for (const Metric& metric : *declared) names.insert(metric.name);
  }
  for (const Override& entry : experiment.overrides) {
    if (!entry.metrics) continue;
    for (const Metric& metric : *entry.metrics) names.insert(metric.name);
  }
  for (const AttemptRecord* record : attempts) {
    for (const auto& [name, value] : record->metrics) names.insert(name);
  }
  return {names.begin(), names.end()};
}

bool has_several_values(const std::vector<Sample>& samples, const std::string& axis) {
  const Value* first = nullptr;
  for (const Sample& sample : samples) {
    const Value* value = find_binding(sample.row.axes, axis);
    if (value == nullptr) return true;
    if (first == nullptr) first = value;
    if (*value != *first) return true;
  }
  return false;
}

/// Chooses the axes, `strategy` first, axes of orphans last, and finds which of them vary.
void choose_axes(Table& table, const Experiment& experiment, const Plan& plan, const std::vector<Sample>& samples) {
  std::copy_if(plan.axes.begin(), plan.axes.end(), std::back_inserter(table.axes),
               [&](const std::string& axis) { return experiment.shows_axis(axis); });
  for (std::size_t i = plan.configurations.size(); i < samples.size(); ++i) {
    for (const auto& [name, value] : samples[i].row.axes) {
      if (!experiment.shows_axis(name)) continue;
      if (std::find(table.axes.begin(), table.axes.end(), name) == table.axes.end()) table.axes.push_back(name);
    }
  }
  const auto strategy = std::find(table.axes.begin(), table.axes.end(), "strategy");
  if (strategy != table.axes.end()) std::rotate(table.axes.begin(), strategy, strategy + 1);
  const bool orphans = samples.size() > plan.configurations.size();
  for (const std::string& axis : table.axes) {
    const bool varied = std::find(plan.varied.begin(), plan.varied.end(), axis) != plan.varied.end();
    if (varied || (orphans && has_several_values(samples, axis))) table.columns.push_back(axis);
  }
}

/// Notes the recorded runs that the table leaves out.
void note_orphans(Table& table, const Plan& plan, const Orphans& orphans) {
  std::vector<std::string> parts;
  if (orphans.repeats > 0) {
    parts.push_back(
        fmt::format("{} run{} beyond `repeats: {}`", orphans.repeats, orphans.repeats == 1 ? "" : "s", plan.repeats));
  }
  if (orphans.configurations > 0) {
    parts.push_back(fmt::format("{} configuration{} outside this file and profile", orphans.configurations,
                                orphans.configurations == 1 ? "" : "s"));
  }
  if (parts.empty()) return;
  table.notes.push_back(fmt::format("on record, but not in this table: {}; `--orphans` shows them", join(parts, ", ")));
}

/// Notes published values that do not count beside values of another kind.
void note_other_statistics(Table& table, const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    if (sample.other_statistics == 0) continue;
    table.notes.push_back(fmt::format("{} of {} {} not count: its row shows {}",
                                      counted(sample.other_statistics, "published value", "published values"),
                                      row_label(table.columns, sample.row), sample.other_statistics == 1 ? "does" : "do",
                                      sample.row.statistic.empty() ? "the values of runs" : "the " + sample.row.statistic));
  }
}

/// Counts the runs of each row that limits interrupted and that continued.
void count_segments(std::vector<Sample>& samples) {
  for (Sample& sample : samples) {
    for (const AttemptRecord* run : sample.runs) {
      const auto segments = run->metrics.find("segments");
      if (segments == run->metrics.end() || segments->second < 2) continue;
      ++sample.row.counts.continued;
      sample.row.counts.segments += static_cast<int>(segments->second);
    }
  }
}

/// Notes rows with runs of several segments, and the effect on their values.
void note_continued(Table& table) {
  int rows = 0, runs = 0, segments = 0, all = 0;
  for (const Row& row : table.rows) {
    rows += row.counts.continued > 0 ? 1 : 0;
    runs += row.counts.continued;
    segments += row.counts.segments;
    all += static_cast<int>(row.runs.size());
  }
  if (runs == 0) return;
  table.notes.push_back(
      fmt::format("{} of {} runs, in {} of {} rows, were continued over {} segments: their `wall_s` is the sum of these with "
                  "what was done twice, and values of their output are those of the last one; `--no-continued` leaves such "
                  "rows out",
                  runs, all, rows, table.rows.size(), segments));
}

/// Notes how many runs of an earlier version had planned faults.
void note_faults(Table& table, const std::vector<const Sample*>& shown) {
  std::size_t runs = 0, all = 0;
  for (const Sample* sample : shown) {
    runs += static_cast<std::size_t>(std::count_if(sample->runs.begin(), sample->runs.end(),
                                                   [](const AttemptRecord* run) { return run->facts.contains("inject"); }));
    all += sample->runs.size();
  }
  if (runs > 0) table.notes.push_back(fmt::format("{} of {} runs had faults by `inject`, a retired key", runs, all));
}

/// Returns how many runs of a block could run side by side, including this one; 1: it had its block for itself.
int side_by_side_of(const Sample& sample) {
  int most = 1;
  if (!sample.row.facts.contains("side_by_side")) return most;
  for (const AttemptRecord* run : sample.measured.empty() ? sample.runs : sample.measured) {
    const auto said = run->facts.find("side_by_side");
    if (said != run->facts.end()) most = std::max(most, std::atoi(said->second.c_str()));
  }
  return most;
}

/// Notes rows that ran beside others of their block, and the effect on times.
void note_side_by_side(Table& table) {
  int rows = 0, most = 1;
  for (const Row& row : table.rows) {
    rows += row.counts.side_by_side > 1 ? 1 : 0;
    most = std::max(most, row.counts.side_by_side);
  }
  if (rows == 0) return;
  table.notes.push_back(
      fmt::format("{} of {} rows ran side by side, up to {} runs of a block on one node at a time, each on cores{} of its "
                  "own: their times include what neighbours take of memory bandwidth, caches, power and network",
                  rows, table.rows.size(), most, table.has_gpus ? " and GPUs" : ""));
}

/// Counts the runs whose earlier attempts did not succeed, and notes what their values leave out.
void note_tried_again(Table& table, const std::vector<AttemptKey>& attempts) {
  std::set<std::pair<std::string, RunName>> runs;
  for (const AttemptKey& attempt : attempts) runs.emplace(attempt.config_id, attempt.run);
  int rows = 0, all = 0;
  for (Row& row : table.rows) {
    row.counts.tried_again = static_cast<int>(std::count_if(row.runs.begin(), row.runs.end(), [&](const RunValue& run) {
      return runs.contains({row.config_id, run.run});
    }));
    rows += row.counts.tried_again > 0 ? 1 : 0;
    all += row.counts.tried_again;
  }
  if (all == 0) return;
  table.notes.push_back(fmt::format(
      "{} run{} in {} of {} rows needed more than one attempt. Only the last attempt of a run counts: the values do "
      "not show how often it fails, and runs that fail may differ from the others",
      all, all == 1 ? "" : "s", rows, table.rows.size()));
}

std::vector<const AttemptRecord*> set_aside_of(const Plan& plan, const ReportOptions& options) {
  std::vector<const AttemptRecord*> attempts;
  for (const AttemptRecord& attempt : options.set_aside) attempts.push_back(&attempt);
  return options.orphans || options.all_repeats ? attempts : asked_repeats(plan, attempts);
}

void note_set_aside(Table& table) {
  const std::string text = describe_set_aside(table);
  if (!text.empty()) table.notes.push_back(text);
}

/// Measures everything in the rows besides the metric. A column of report.columns may be any metric.
void measure_all(std::vector<Sample>& samples, const std::vector<std::string>& axes, const Experiment& experiment,
                 const ReportOptions& options) {
  const ReportSettings& settings = experiment.report;
  const std::string scale_by = to_string(experiment.scale_by());
  std::vector<std::string> metrics = options.metric_columns;
  for (std::string& name : metrics_among(settings.columns, axes, scale_by)) metrics.push_back(std::move(name));
  for (std::string& name : metrics_sorted_by(settings.sort, axes, scale_by)) metrics.push_back(std::move(name));
  for (Sample& sample : samples) {
    measure_parts(sample, settings, metrics);
    measure_series(sample, settings);
    sample.row.counts.side_by_side = side_by_side_of(sample);
  }
}

/// Moves the values of the runs, most of a row's memory, out of the samples, which no longer need them.
void move_into_rows(Table& table, const Experiment& experiment, std::vector<Sample>& samples,
                    const std::vector<const Sample*>& shown) {
  std::unordered_map<std::string, std::vector<std::string>> codes;
  for (const TableWarning& warning : table.warnings) {
    for (const std::string& id : warning.rows) {
      std::vector<std::string>& of_row = codes[id];
      if (std::find(of_row.begin(), of_row.end(), warning.code) == of_row.end()) of_row.push_back(warning.code);
    }
  }
  table.rows.reserve(shown.size());
  for (const Sample* sample : shown) {
    std::vector<RunValue> runs = std::move(samples[static_cast<std::size_t>(sample - samples.data())].row.runs);
    table.rows.push_back(sample->row);
    table.rows.back().runs = std::move(runs);
    table.rows.back().axes = experiment.shown_axes(std::move(table.rows.back().axes));
    if (const auto found = codes.find(sample->row.config_id); found != codes.end()) table.rows.back().warnings = found->second;
  }
}

/// Returns why a metric has no speedup, and how to declare its direction.
std::string no_direction(const std::string& metric) {
  return fmt::format(
      "`{0}` has no speedup: neither its unit nor its name is that of a time or a rate; add `better: higher` (or `lower`) to "
      "its entry of `metrics`, which may be {{name: {0}, better: higher}} alone",
      metric);
}

/// Checks the names in this report's options; InputError for one that does not exist.
void require_names(const Experiment& experiment, const Plan& plan, const std::vector<const AttemptRecord*>& attempts) {
  const ReportSettings& settings = experiment.report;
  require_axes(names_of(settings.where), point_names(plan), "report.where");
  require_axes(settings.group_by, plan.axes, "report.group_by");
  const std::vector<std::string> metrics = known_metrics(experiment, plan, attempts);
  require_sort_keys(settings.sort, point_names(plan), metrics, to_string(experiment.scale_by()));
  require_columns(settings.columns, point_names(plan), metrics, to_string(experiment.scale_by()));
}

/// Returns the table's general properties, from the file and the options.
Table table_without_rows(const Experiment& experiment, const MetricChoice& metric) {
  const ReportSettings& settings = experiment.report;
  Table table;
  table.experiment = experiment.name;
  table.description = experiment.description;
  table.metric = metric.name;
  table.unit = metric.unit;
  table.time_unit = settings.time_unit;
  table.confidence = settings.confidence;
  table.looks = settings.looks;
  table.baseline = experiment.baseline;
  table.kind = metric.kind;
  table.is_flat = metric.is_flat(settings.scaling);
  table.has_speedup = metric.is_compared() && !experiment.baseline.empty();
  table.paired = settings.paired;
  table.scaling = settings.scaling;
  table.has_gpus = experiment.has_gpus;
  table.scale_by = to_string(experiment.scale_by());
  table.speedup_style = settings.speedup_style;
  table.peak_tflops = settings.peak_tflops;
  table.target_loss = settings.target_loss;
  table.shown_columns = settings.columns;
  table.group_by = settings.group_by;
  return table;
}

void check_only(const Plan& plan, const ReportOptions& options) {
  for (const Selection& only : options.only) {
    if (!options.orphans) select(plan, only);  // reports errors in it
    require_axes(names_of(only.condition), point_names(plan), "--only");
  }
}

}  // namespace

bool used_gpus(const std::vector<AttemptRecord>& records) {
  return std::any_of(records.begin(), records.end(), [](const AttemptRecord& record) {
    const auto device = record.facts.find("device");
    return record.facts.contains("gpu_model") || record.facts.contains("claimed_gpus") ||
           (device != record.facts.end() && (device->second == "cuda" || device->second == "gpu")) ||
           record.metrics.find("gpu_utilization_percent") != record.metrics.end();
  });
}

void check_report(const Experiment& experiment, const Plan& plan) {
  require_names(experiment, plan, {});
  const MetricChoice metric = choose_metric(experiment, {}, {});
  if (metric.is_compared() && !experiment.baseline.empty()) check_baselines(experiment, plan);
  if (experiment.report.where_if) configurations_where(plan, *experiment.report.where_if);
  match_references(experiment, plan);
  check_repeat_rule(experiment);
  const Condition& where = experiment.report.where;
  const bool some =
      where.empty() || std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                   [&](const Configuration& each) { return matches(where, plan.all_bindings(each)); });
  if (!some) refuse_empty_report();
}

Table build_table(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records,
                  const ReportOptions& options) {
  const ReportSettings& settings = experiment.report;
  check_only(plan, options);
  take_values_at(records, experiment);
  const std::vector<const AttemptRecord*> on_record = sorted_attempts(records);
  const bool all = options.orphans || options.all_repeats;
  const std::vector<const AttemptRecord*> attempts = all ? on_record : asked_repeats(plan, on_record);
  unify_units(records, attempts, plan, experiment, options);
  require_names(experiment, plan, attempts);
  const std::optional<InnerAxis> inner = inner_axis_of(experiment, options);
  if (inner) require_value_at(attempts, *inner, options.metric.value_or(experiment.report_metric()));
  MetricChoice metric = choose_metric(experiment, attempts, options);
  metric.is_of_part = metric.is_of_part || inner;
  Table table = table_without_rows(experiment, metric);
  table.inner = inner;
  const bool has_fixed_repeats = experiment.runs_anything() && !experiment.repeat_rule && !options.all_repeats;
  if (has_fixed_repeats) table.planned_repeats = plan.repeats;
  std::vector<Sample> samples =
      collect_samples(plan, attempts, metric, settings, experiment.scale_by(), options.orphans, set_aside_of(plan, options));
  choose_axes(table, experiment, plan, samples);
  count_segments(samples);
  note_other_statistics(table, samples);
  if (!all) note_orphans(table, plan, count_orphans(plan, on_record));
  table.size_axes = axes_along_lines(size_axes(experiment, plan), plan, experiment.scale_by());
  if (table.has_speedup) {
    compare_with_baselines(samples, metric, experiment, plan, options.whole_lists, table.notes);
  } else if (!experiment.baseline.empty()) {
    table.notes.push_back(no_direction(metric.name));
  }
  table.derived = plan.derived;
  table.derived_columns = plan.varied_derived;
  std::vector<std::string> names = table.axes;
  names.insert(names.end(), plan.derived.begin(), plan.derived.end());
  measure_all(samples, names, experiment, options);
  std::vector<const Sample*> shown = select_rows(samples, plan, settings, options);
  const std::vector<std::vector<std::size_t>> references = match_references(experiment, plan);
  const bool decides = experiment.repeat_rule && metric.name == experiment.report_metric();
  const std::vector<LookProgress> looks = decides ? judge_looks(samples, experiment, plan) : std::vector<LookProgress>{};
  const WarningContext context{experiment,         plan.repeats, samples,    shown, attempts,
                               table.columns,      metric,       references, looks, options.changed_files,
                               options.whole_lists};
  table.warnings = find_warnings(context);
  table.simulated_nodes = has_warning(table, kSimulatedNodes);
  table.fits = fit_scaling(shown, metric, settings, table.columns, table.size_axes);
  table.provenance = gather_provenance(shown, plan);
  InnerRows inner_rows;
  if (table.inner)
    inner_rows = collect_inner_rows(samples, shown, *table.inner, metric, settings, table.has_speedup, table.notes);
  move_into_rows(table, experiment, samples, shown);
  note_continued(table);
  note_faults(table, shown);
  note_side_by_side(table);
  note_tried_again(table, options.tried_again);
  note_set_aside(table);
  describe_methods(table, context);
  sort_rows_by(table, settings.sort);
  if (table.inner) append_inner_rows(table, std::move(inner_rows));
  return table;
}

}  // namespace hpcbench
