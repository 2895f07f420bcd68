#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

void check_required(const Draft& draft, Complaints& complaints) {
  const YamlNode& root = *draft.root;
  if (!root.is_map()) return;
  const auto has = [&](const char* key) { return root.index_of(key) != YamlNode::npos; };
  const auto key_spot = [&](const char* key) { return root.keys[root.index_of(key)].spot; };
  if (!has("experiment")) complaints.add(root.spot, "`experiment` is missing: the name of the study", "experiment: my_study");
  if (!has("trainer") && !has("command") && !has("import")) {
    complaints.add(root.spot, "what to run is missing: `trainer` or `command`",
                   fmt::format("trainer: {}   or   command: [program, \"--size={{{{size}}}}\"]; a study of results that exist "
                               "already has `import`",
                               trainer_tasks().front()));
  }
  if (has("trainer") && has("command")) {
    complaints.add(key_spot("command"), "`command` stands beside `trainer`: only one of them can run", "remove one of the two");
  }
  if (!has("trainer") && !has("command") && has("repeats") && has("import")) {
    complaints.add(key_spot("repeats"), "`repeats` says how often something runs, and there is no `trainer` or `command`",
                   "remove it: imported runs are not repeated");
  }
  if (has("shell") && !has("command")) {
    complaints.add(key_spot("shell"), "`shell` says how `command` is read, and there is no `command`");
  }
  if (!has("matrix") && !has("zip") && !has("include")) {
    complaints.add(root.spot, "what varies is missing: `matrix`, `zip` or `include`", "matrix: {nodes: [1, 2]}");
  }
}

void check_executor(const Draft& draft, Complaints& complaints) {
  if (!draft.experiment.work.container || draft.experiment.executor == "slurm") return;
  complaints.add(draft.root->keys[draft.root->index_of("container")].spot,
                 "`container` needs the executor slurm, and the executor is local",
                 "remove it, or say `executor: slurm` or a --site");
}

/// Whether the value at a top-level key is still the one of the file.
bool is_inherited(const Draft& draft, const Draft& base, std::string_view key) {
  const YamlNode* now = draft.root->find(key);
  const YamlNode* before = base.root->find(key);
  return now != nullptr && before != nullptr && now->spot == before->spot;
}

const AxisDraft* find_axis(const Draft& draft, const std::string& name) {
  for (const AxisDraft* axis : draft.product_axes()) {
    if (axis->axis.name == name) return axis;
  }
  return nullptr;
}

/// True if an axis changed so that this included point lies outside.
bool is_outside(const PointDraft& entry, const Draft& draft, const Draft& base) {
  for (const AxisDraft* axis : draft.product_axes()) {
    if (find_binding(entry.point, axis->axis.name) == nullptr) return true;  // an axis that the file does not have
  }
  return std::any_of(entry.point.begin(), entry.point.end(), [&](const auto& binding) {
    const AxisDraft* now = find_axis(draft, binding.first);
    const AxisDraft* before = find_axis(base, binding.first);
    if (now == nullptr) return before != nullptr;
    if (before != nullptr && now->node->spot == before->node->spot) return false;
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

void drop_outside(Draft& draft, const Draft& base, const std::string& changes) {
  std::vector<std::string>& notes = draft.experiment.notes;
  draft.inherited_expressions = expressions_of(base);
  if (is_inherited(draft, base, "include")) {
    drop_entries(
        draft.include, [&](const PointDraft& entry) { return is_outside(entry, draft, base); }, "include", changes, notes);
  }
  if (is_inherited(draft, base, "exclude")) {
    {
      const PointSpace space(draft);
      for (ConditionDraft& exclude : draft.exclude) exclude.inherited = space.product_matches(exclude.condition);
    }
    drop_entries(
        draft.exclude, [](const ConditionDraft& exclude) { return !exclude.inherited; }, "exclude", changes, notes);
  }
  const PointSpace space(draft);
  if (is_inherited(draft, base, "overrides")) {
    for (OverrideDraft& entry : draft.overrides) entry.when.inherited = true;
    drop_entries(
        draft.overrides, [&](const OverrideDraft& entry) { return !space.find_point(entry.when.condition); }, "overrides",
        changes, notes);
  }
  if (is_inherited(draft, base, "import")) {
    for (ImportDraft& entry : draft.imports) {
      if (entry.run) entry.run->inherited = true;
    }
    drop_entries(
        draft.imports, [&](const ImportDraft& entry) { return entry.run && !space.find_point(entry.run->condition); }, "import",
        changes, notes);
  }
  if (draft.baseline && is_inherited(draft, base, "baseline")) {
    draft.baseline->inherited = true;
    if (!space.find_point(draft.baseline->condition)) {
      draft.baseline.reset();
      notes.push_back(fmt::format("{}: no point matches `baseline`: there are no speedups", changes));
    }
  }
  if (draft.where) {
    const YamlNode* before = base.root->find("report");
    const YamlNode* where = before == nullptr || !before->is_map() ? nullptr : before->find("where");
    draft.where->inherited = where != nullptr && where->spot == draft.where->node->spot;
  }
}

void check_draft(const Draft& draft, Complaints& complaints) {
  check_required(draft, complaints);
  check_axes(draft, complaints);
  check_executor(draft, complaints);
  if (!axes_are_sound(draft)) return;
  const PointSpace space(draft);
  const std::size_t before = complaints.made();
  check_points(draft, space, complaints);
  const YamlNode* excludes = draft.root->find("exclude");
  const bool all_read = excludes == nullptr || draft.exclude.size() == excludes->items.size();
  check_placeholders(draft, space, complaints);
  check_reach(draft, complaints);
  check_trainer(draft, space, complaints.made() == before && all_read, complaints);
}

}  // namespace hpcbench
