#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/text.hpp"
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

void check_parsed(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  check_required(parsed, diagnostics);
  check_axes(parsed, diagnostics);
  check_container(parsed, diagnostics);
  check_srun(parsed, diagnostics);
  check_output(parsed, diagnostics);
  if (!axes_are_sound(parsed)) return;
  const PointSpace space(parsed);
  const std::size_t before = diagnostics.made();
  check_points(parsed, space, diagnostics);
  const YamlNode* excludes = parsed.root->find("exclude");
  const bool all_read = excludes == nullptr || parsed.exclude.size() == excludes->items.size();
  check_preparations(parsed, diagnostics);
  check_placeholders(parsed, space, diagnostics);
  check_reach(parsed, diagnostics);
  check_trainer(parsed, space, diagnostics.made() == before && all_read, diagnostics);
}

}  // namespace hpcbench
