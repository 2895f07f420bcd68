#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

void check_required(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const YamlNode& root = *parsed.root;
  if (!root.is_map()) return;
  const auto has = [&](const char* key) { return root.index_of(key) != YamlNode::npos; };
  const auto key_location = [&](const char* key) { return root.keys[root.index_of(key)].location; };
  if (!has("experiment"))
    diagnostics.add(root.location, "`experiment` is missing: the name of the study", "experiment: my_study");
  if (!has("trainer") && !has("command") && !has("import")) {
    diagnostics.add(root.location, "what to run is missing: `trainer` or `command`",
                    fmt::format("trainer: {}   or   command: [program, \"--size={{{{size}}}}\"]; a study of results that exist "
                                "already has `import`",
                                trainer_tasks().front()));
  }
  if (has("trainer") && has("command")) {
    diagnostics.add(key_location("command"), "`command` stands beside `trainer`: only one of them can run",
                    "remove one of the two");
  }
  if (!has("trainer") && !has("command") && has("repeats") && has("import")) {
    diagnostics.add(key_location("repeats"), "`repeats` says how often something runs, and there is no `trainer` or `command`",
                    "remove it: imported runs are not repeated");
  }
  if (has("shell") && !has("command")) {
    diagnostics.add(key_location("shell"), "`shell` says how `command` is read, and there is no `command`");
  }
  if (!has("matrix") && !has("zip") && !has("include")) {
    diagnostics.add(root.location, "what varies is missing: `matrix`, `zip` or `include`", "matrix: {nodes: [1, 2]}");
  }
}

bool names_file(const std::string& glob, const char* name) { return ::fnmatch(glob.c_str(), name, 0) == 0; }

/// Metrics that name the files of single ranks, which `output: merged` does not write.
void check_merged_metrics(const YamlNode* list, Diagnostics& diagnostics) {
  if (list == nullptr || !list->is_list()) return;
  for (const YamlNode& item : list->items) {
    const YamlNode* file = item.is_map() ? item.find("file") : nullptr;
    if (file == nullptr || !file->is_scalar() || names_file(file->text, "ranks.log")) continue;
    if (!names_file(file->text, "stdout.1.log") && !names_file(file->text, "stderr.1.log")) continue;
    diagnostics.add(file->location,
                    fmt::format("{} names files of single ranks, and with `output: merged` there are none", cite(file->text)),
                    "read ranks.log, where each line of ranks above 0 begins with its rank, or say `output: per_rank`");
  }
}

void check_output(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!parsed.experiment.merged_output) return;
  check_merged_metrics(parsed.root->find("metrics"), diagnostics);
  for (const ParsedOverride& entry : parsed.overrides) check_merged_metrics(entry.node->find("metrics"), diagnostics);
}

/// The metrics of the file and of its overrides.
std::vector<Metric> all_metrics(const ParsedExperiment& parsed) {
  std::vector<Metric> metrics = parsed.experiment.work.metrics;
  for (const ParsedOverride& entry : parsed.overrides) {
    const auto& more = entry.override_.metrics;
    if (more) metrics.insert(metrics.end(), more->begin(), more->end());
  }
  return metrics;
}

/// `report.rows` must be the series of a metric, and of that of the report.
void check_inner_axis(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const std::optional<InnerAxis>& inner = parsed.experiment.report.inner;
  if (!inner) return;
  const SourceLocation& place = parsed.root->find("report")->find("rows")->location;
  const std::vector<std::string> axes = parsed.axis_names();
  if (std::find(axes.begin(), axes.end(), inner->name) != axes.end()) {
    diagnostics.add(place,
                    fmt::format("`report.rows` is {}, which is an axis: its values have rows already", cite(inner->name)),
                    "give the series of the metric another name");
    return;
  }
  std::vector<std::string> series;
  bool is_of_report = false;
  for (const Metric& metric : all_metrics(parsed)) {
    if (!metric.series) continue;
    series.push_back(*metric.series);
    is_of_report = is_of_report || (*metric.series == inner->name && metric.name == parsed.experiment.report_metric());
  }
  if (std::find(series.begin(), series.end(), inner->name) == series.end()) {
    diagnostics.add(place,
                    fmt::format("`report.rows` is {}, which is the `series` of no metric{}", cite(inner->name),
                                did_you_mean(inner->name, series)),
                    "metrics: [{name: latency_us, ..., series: size, index: size}]");
  } else if (!is_of_report) {
    diagnostics.add(place,
                    fmt::format("the report's metric is {}, which is no series of {}", cite(parsed.experiment.report_metric()),
                                cite(inner->name)),
                    "name one in `report.metric`");
  }
}

/// `srun` of the file where nothing of it is started by srun.
void check_srun(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const std::size_t key = parsed.root->index_of("srun");
  if (key == YamlNode::npos) return;
  const Experiment& experiment = parsed.experiment;
  const bool others = std::any_of(parsed.overrides.begin(), parsed.overrides.end(), [](const ParsedOverride& entry) {
    return entry.override_.launch.value_or(Launch::once) != Launch::once;
  });
  if (experiment.launcher == "mpirun") {
    diagnostics.add(parsed.root->keys[key].location,
                    "`srun` has options of srun, and with `launcher: mpirun` mpirun starts the processes",
                    "remove one of the two");
  } else if (experiment.work.launch == Launch::once && !others) {
    diagnostics.add(parsed.root->keys[key].location,
                    "`srun` has options of srun, and with `launch: once` hpcbench calls no srun",
                    "remove it, and write them into `command`, which starts the processes");
  }
}

void refuse_metrics_of_jobs(const YamlNode* list, Diagnostics& diagnostics) {
  if (list == nullptr || !list->is_list()) return;
  for (const YamlNode& item : list->items) {
    const std::size_t key = item.is_map() ? item.index_of("accounting") : YamlNode::npos;
    if (key == YamlNode::npos) continue;
    diagnostics.add(item.keys[key].location,
                    "`accounting` tells of a whole job, and with `allocation: {per: block}` a job has many runs",
                    "remove this metric, or say `allocation: {per: run}`");
  }
}

/// What starts the processes of some run, where that is not srun.
std::optional<std::string> other_than_srun(const ParsedExperiment& parsed) {
  if (parsed.experiment.launcher == "mpirun") return "`launcher: mpirun`";
  const bool once = parsed.experiment.work.launch == Launch::once ||
                    std::any_of(parsed.overrides.begin(), parsed.overrides.end(),
                                [](const ParsedOverride& entry) { return entry.override_.launch == Launch::once; });
  return once ? std::optional<std::string>("`launch: once`") : std::nullopt;
}

/// Steps of a mixed block are given their nodes by srun.
void check_mixed_shapes(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!parsed.experiment.mixes_shapes()) return;
  const std::optional<std::string> other = other_than_srun(parsed);
  if (!other) return;
  diagnostics.add(parsed.root->find("allocation")->find("shapes")->location,
                  fmt::format("`shapes: mixed` gives each run its nodes by srun, and {} starts no srun", *other),
                  "remove `shapes: mixed`: configurations of each number of nodes have blocks of their own");
}

/// Runs side by side have one shape and one node each, and srun keeps them apart. What is the same at all points is checked
/// here, resources of the plan's configurations by check_blocks.
void check_side_by_side(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const Experiment& experiment = parsed.experiment;
  const YamlNode* const allocation = parsed.root->find("allocation");
  const YamlNode* const said = allocation != nullptr && allocation->is_map() ? allocation->find("side_by_side") : nullptr;
  if (experiment.side_by_side <= 1 || said == nullptr) return;
  if (!experiment.in_blocks()) {
    diagnostics.add(said->location, "`side_by_side` is about the runs of a block, and here each run has a job of its own",
                    "remove it, or say `allocation: {per: block, side_by_side: 2}`");
  } else if (experiment.mixed_shapes) {
    diagnostics.add(said->location,
                    "runs side by side take equal shares of one node, and those of `shapes: mixed` have several nodes",
                    "remove `side_by_side`, or `shapes: mixed`");
  } else if (const std::optional<std::string> other = other_than_srun(parsed)) {
    diagnostics.add(
        said->location,
        fmt::format("runs side by side are given cores and GPUs of their own by srun, and {} starts no srun", *other),
        "remove `side_by_side`: runs of a block then follow one another");
  }
}

/// A run that a job with too short an estimate cut off is tried again.
void check_estimated_time(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const Experiment& experiment = parsed.experiment;
  if (!experiment.estimated_time) return;
  const SourceLocation& place = parsed.root->find("allocation")->find("time")->location;
  if (!experiment.in_blocks()) {
    diagnostics.add(place, "`time: auto` is about the jobs of blocks, and here each run has a job with its own limit",
                    "remove it, or say `allocation: {per: block, time: auto}`");
  } else if (experiment.retries.lost == 0) {
    diagnostics.add(place,
                    "with `time: auto` a job may end before its run does, which then counts as lost, and `retries: {lost: 0}` "
                    "gives it no new attempt",
                    "remove `lost: 0`, or `time: auto`");
  }
}

/// What cannot be in one allocation.
void check_allocation(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  check_estimated_time(parsed, diagnostics);
  check_side_by_side(parsed, diagnostics);
  if (!parsed.experiment.in_blocks()) return;
  check_mixed_shapes(parsed, diagnostics);
  if (parsed.experiment.order == Order::sequential) {
    diagnostics.add(parsed.root->find("allocation")->find("per")->location,
                    "a block is one repeat of every configuration, and `order: sequential` asks for all repeats of one "
                    "configuration, then of the next",
                    "remove `order`, or say `allocation: {per: run}`");
  }
  refuse_metrics_of_jobs(parsed.root->find("metrics"), diagnostics);
  for (const ParsedOverride& entry : parsed.overrides) refuse_metrics_of_jobs(entry.node->find("metrics"), diagnostics);
}

/// Whether the value at a top-level key is still the one of the file.
bool is_inherited(const ParsedExperiment& parsed, const ParsedExperiment& base, std::string_view key) {
  const YamlNode* now = parsed.root->find(key);
  const YamlNode* before = base.root->find(key);
  return now != nullptr && before != nullptr && now->location == before->location;
}

const ParsedAxis* find_axis(const ParsedExperiment& parsed, const std::string& name) {
  for (const ParsedAxis* axis : parsed.product_axes()) {
    if (axis->axis.name == name) return axis;
  }
  return nullptr;
}

/// True if an axis changed so that this included point lies outside.
bool is_outside(const ParsedPoint& entry, const ParsedExperiment& parsed, const ParsedExperiment& base) {
  for (const ParsedAxis* axis : parsed.product_axes()) {
    if (find_binding(entry.point, axis->axis.name) == nullptr) return true;  // an axis that the file does not have
  }
  return std::any_of(entry.point.begin(), entry.point.end(), [&](const auto& binding) {
    const ParsedAxis* now = find_axis(parsed, binding.first);
    const ParsedAxis* before = find_axis(base, binding.first);
    if (now == nullptr) return before != nullptr;
    if (before != nullptr && now->node->location == before->node->location) return false;
    const std::vector<Value>& values = now->axis.values;
    return std::find(values.begin(), values.end(), binding.second) == values.end();
  });
}

template <class Entries, class Outside>
void drop_entries(Entries& entries, Outside outside, const std::string& what, const std::string& changes,
                  std::vector<std::string>& notes) {
  const std::size_t before = entries.size();
  entries.erase(std::remove_if(entries.begin(), entries.end(), outside), entries.end());
  if (entries.size() == before) return;
  notes.push_back(fmt::format("{}: {} of {} `{}` entries do not apply: their points are not there", changes,
                              before - entries.size(), before, what));
}

}  // namespace

std::set<std::size_t> expressions_of(const ParsedExperiment& parsed) {
  std::set<std::size_t> offsets;
  const auto add = [&](const LocatedExpression& each) { offsets.insert(each.location().offset); };
  for (const ParsedCondition& exclude : parsed.exclude) {
    if (exclude.expression) add(*exclude.expression);
  }
  for (const ParsedOverride& entry : parsed.overrides) {
    if (entry.when.expression) add(*entry.when.expression);
  }
  for (const ParsedDerived& entry : parsed.derive) add(entry.derived.expression);
  for (const LocatedExpression& each : parsed.experiment.require) add(each);
  if (parsed.where && parsed.where->expression) add(*parsed.where->expression);
  for (const ParsedReference& entry : parsed.references) {
    if (entry.when && entry.when->expression) add(*entry.when->expression);
  }
  return offsets;
}

void drop_outside(ParsedExperiment& parsed, const ParsedExperiment& base, const std::string& changes) {
  std::vector<std::string>& notes = parsed.experiment.notes;
  parsed.inherited_expressions = expressions_of(base);
  if (is_inherited(parsed, base, "include")) {
    drop_entries(
        parsed.include, [&](const ParsedPoint& entry) { return is_outside(entry, parsed, base); }, "include", changes, notes);
  }
  if (is_inherited(parsed, base, "exclude")) {
    {
      const PointSpace space(parsed);
      for (ParsedCondition& exclude : parsed.exclude) exclude.inherited = space.product_matches(exclude.condition);
    }
    drop_entries(
        parsed.exclude, [](const ParsedCondition& exclude) { return !exclude.inherited; }, "exclude", changes, notes);
  }
  const PointSpace space(parsed);
  if (is_inherited(parsed, base, "overrides")) {
    for (ParsedOverride& entry : parsed.overrides) entry.when.inherited = true;
    drop_entries(
        parsed.overrides, [&](const ParsedOverride& entry) { return !space.find_point(entry.when.condition); }, "overrides",
        changes, notes);
  }
  if (is_inherited(parsed, base, "import")) {
    for (ParsedImport& entry : parsed.imports) {
      if (entry.run) entry.run->inherited = true;
    }
    drop_entries(
        parsed.imports, [&](const ParsedImport& entry) { return entry.run && !space.find_point(entry.run->condition); },
        "import", changes, notes);
  }
  if (parsed.baseline && is_inherited(parsed, base, "baseline")) {
    parsed.baseline->inherited = true;
    if (!space.find_point(parsed.baseline->condition)) {
      parsed.baseline.reset();
      notes.push_back(fmt::format("{}: no point matches `baseline`: there are no speedups", changes));
    }
  }
  if (parsed.where) {
    const YamlNode* before = base.root->find("report");
    const YamlNode* where = before == nullptr || !before->is_map() ? nullptr : before->find("where");
    parsed.where->inherited = where != nullptr && where->location == parsed.where->node->location;
  }
  for (ParsedReference& entry : parsed.references) {
    const auto same = [&](const ParsedReference& other) {
      return other.when && other.when->node->location == entry.when->node->location;
    };
    if (entry.when) entry.when->inherited = std::any_of(base.references.begin(), base.references.end(), same);
  }
}

namespace {

/// The built-in trainer goes on from checkpoint/last.safetensors, which it keeps only where it is told to.
void check_continuation(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const Experiment& experiment = parsed.experiment;
  if (!experiment.continuation || !experiment.is_trainer()) return;
  const std::vector<std::string> axes = parsed.axis_names();
  const bool said = find_binding(experiment.work.parameters, "checkpoint") != nullptr ||
                    std::find(axes.begin(), axes.end(), "checkpoint") != axes.end() ||
                    std::any_of(parsed.overrides.begin(), parsed.overrides.end(), [](const ParsedOverride& entry) {
                      return find_binding(entry.override_.parameters, "checkpoint") != nullptr;
                    });
  if (said) return;
  diagnostics.add(parsed.root->find("continue")->location, "the trainer keeps nothing from which it could go on",
                  "parameters: {checkpoint: last}");
}

}  // namespace

void check_parsed(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  check_required(parsed, diagnostics);
  check_axes(parsed, diagnostics);
  check_container(parsed, diagnostics);
  check_srun(parsed, diagnostics);
  check_inner_axis(parsed, diagnostics);
  check_output(parsed, diagnostics);
  check_allocation(parsed, diagnostics);
  check_repeats(parsed, diagnostics);
  check_continuation(parsed, diagnostics);
  if (!axes_are_sound(parsed)) return;
  const PointSpace space(parsed);
  const std::size_t before = diagnostics.made();
  check_points(parsed, space, diagnostics);
  const YamlNode* excludes = parsed.root->find("exclude");
  const bool all_read = excludes == nullptr || parsed.exclude.size() == excludes->items.size();
  check_preparations(parsed, diagnostics);
  check_placeholders(parsed, space, diagnostics);
  check_reach(parsed, diagnostics);
  check_shell_values(parsed, diagnostics);
  check_trainer(parsed, space, diagnostics.made() == before && all_read, diagnostics);
}

}  // namespace hpcbench
