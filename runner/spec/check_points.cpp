#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/report_columns.hpp"

namespace hpcbench {

namespace {

std::string value_advice(const PointSpace& space, const std::string& axis) {
  std::vector<std::string> texts;
  for (const Value& value : space.some_values(axis)) texts.push_back(value.text());
  return fmt::format("values of {}: {}", cite(axis), cite_all(texts));
}

}  // namespace

void refuse_value(const PointSpace& space, const std::string& axis, const Value& value, const YamlSpot& spot,
                  Complaints& complaints) {
  std::vector<std::string> texts;
  for (const Value& known : space.some_values(axis)) {
    if (known.text() == value.text()) {
      complaints.add(spot, fmt::format("{} has no value {} that is a text", cite(axis), cite(value.text())),
                     "write it with quotes or without them, as in the axis");
      return;
    }
    texts.push_back(known.text());
  }
  complaints.add(spot, fmt::format("{} has no value {}{}", cite(axis), cite(value.text()), did_you_mean(value.text(), texts)),
                 value_advice(space, axis));
}

namespace {

constexpr const char* kRunForm = "{files: old/ddp.out, run: {strategy: ddp, nodes: 2}}";

/// Axes that the file names itself: nodes and gpus_per_node are there without it.
std::vector<std::string> said_axis_names(const Draft& draft) {
  std::vector<std::string> names;
  for (const AxisDraft* axis : draft.product_axes()) names.push_back(axis->axis.name);
  for (const PointDraft& entry : draft.include) {
    for (const auto& [name, value] : entry.point) names.push_back(name);
  }
  return names;
}

void check_parameters(const Bindings& parameters, const YamlNode* node, const Draft& draft, Complaints& complaints) {
  const std::vector<std::string> axes = draft.axis_names();
  const std::vector<std::string> said = said_axis_names(draft);
  for (const auto& [name, value] : parameters) {
    if (std::find(axes.begin(), axes.end(), name) == axes.end()) continue;
    if (std::find(said.begin(), said.end(), name) == said.end()) {
      complaints.add(node->keys[node->index_of(name)].spot,
                     fmt::format("{} says how large a run is, which only an axis does", cite(name)),
                     fmt::format("write matrix: {{{}: [{}]}}", name, value.text()));
      continue;
    }
    complaints.add(node->keys[node->index_of(name)].spot,
                   fmt::format("{} is an axis: it cannot be a parameter, too", cite(name)), "keep it in one of the two places");
  }
}

/// True if every name is an axis and every value one of its values.
bool check_condition(const ConditionDraft& draft, const std::string& what, bool included, const Draft& whole,
                     const PointSpace& space, Complaints& complaints) {
  bool good = true;
  const std::vector<std::string> axes = whole.axis_names();
  for (std::size_t i = 0; i < draft.condition.size(); ++i) {
    const auto& [name, values] = draft.condition[i];
    if (!space.has_axis(name)) {
      const bool parameter = find_binding(whole.experiment.work.parameters, name) != nullptr;
      const bool derived = std::any_of(whole.derive.begin(), whole.derive.end(),
                                       [&](const DerivedDraft& entry) { return entry.derived.name == name; });
      complaints.add(draft.node->keys[i].spot,
                     fmt::format("{} in {} is no axis{}", cite(name), what, derived ? "" : did_you_mean(name, axes)),
                     parameter ? "it is a parameter: all points have the same value"
                     : derived ? "it is derived: name the axes that it comes from"
                               : "axes: " + cite_all(axes));
      good = false;
      continue;
    }
    if (draft.inherited) continue;
    for (std::size_t k = 0; k < values.size() && !complaints.full(); ++k) {
      if (space.has_value(name, values[k], included)) continue;
      const YamlNode& item = draft.node->items[i];
      refuse_value(space, name, values[k], (item.is_list() ? item.items[k] : item).spot, complaints);
      good = false;
    }
  }
  return good;
}

void check_excludes(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  for (const ConditionDraft& exclude : draft.exclude) {
    if (complaints.full()) return;
    if (exclude.expression) continue;  // make_plan says whether it is true somewhere
    if (!check_condition(exclude, "`exclude`", false, draft, space, complaints) || space.product_matches(exclude.condition))
      continue;
    complaints.add(exclude.node->spot, "this exclude matches nothing",
                   draft.matrix.empty() && draft.zip.empty() ? "points of `include` are never excluded"
                                                             : "no point has these values together");
  }
}

void check_overrides(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  for (const OverrideDraft& entry : draft.overrides) {
    if (complaints.full()) return;
    check_parameters(entry.override_.parameters, entry.node->find("parameters"), draft, complaints);
    if (entry.when.expression) continue;  // make_plan says whether it is true somewhere
    if (!check_condition(entry.when, "`when`", true, draft, space, complaints)) continue;
    if (!space.find_point(entry.when.condition)) {
      complaints.add(entry.when.node->spot, "this override matches nothing",
                     "no point that is left after `exclude` has these values");
    }
  }
}

/// Whether some axis has several values, so that a point must be named.
bool space_has_choice(const Draft& draft) {
  const std::vector<const AxisDraft*> axes = draft.product_axes();
  return draft.include.size() + (axes.empty() ? 0 : 1) > 1 ||
         std::any_of(axes.begin(), axes.end(), [](const AxisDraft* axis) { return axis->axis.values.size() > 1; });
}

void check_imports(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  for (const ImportDraft& entry : draft.imports) {
    if (complaints.full()) return;
    if (entry.needs_run != nullptr && space_has_choice(draft)) {
      complaints.add(entry.needs_run->spot, "an import needs `run`: which point it is", kRunForm);
    }
    if (!entry.run || !check_condition(*entry.run, "`run`", true, draft, space, complaints)) continue;
    if (!space.find_point(entry.run->condition)) {
      complaints.add(entry.run->node->spot, "no point has these values", "`run` names a point of the matrix: {strategy: ddp}");
    }
  }
}

void check_include(const Draft& draft, Complaints& complaints) {
  if (draft.include.empty()) return;
  std::vector<std::string> axes;
  for (const AxisDraft* axis : draft.product_axes()) axes.push_back(axis->axis.name);
  if (axes.empty()) {
    for (const auto& [name, value] : draft.include.front().point) axes.push_back(name);
  }
  std::unordered_map<std::string, const YamlNode*> seen;
  for (const PointDraft& entry : draft.include) {
    if (complaints.full()) return;
    std::vector<std::string> missing;
    for (const std::string& axis : axes) {
      if (find_binding(entry.point, axis) == nullptr) missing.push_back(axis);
    }
    if (!missing.empty()) {
      complaints.add(entry.node->spot, fmt::format("this point does not say {}", cite_all(missing)),
                     "a point of `include` names every axis");
    }
    std::string identity;
    std::vector<std::pair<std::string, std::string>> sorted;
    for (std::size_t i = 0; i < entry.point.size(); ++i) {
      const std::string& name = entry.point[i].first;
      sorted.emplace_back(name, entry.point[i].second.canonical());
      const bool known = std::find(axes.begin(), axes.end(), name) != axes.end() || name == "nodes" || name == "gpus_per_node";
      if (!known) {
        complaints.add(entry.node->keys[i].spot,
                       fmt::format("{} in `include` is no axis{}", cite(name), did_you_mean(name, axes)),
                       "axes: " + cite_all(axes));
      }
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, value] : sorted) identity += name + '=' + value + ',';
    const auto [first, is_new] = seen.emplace(identity, entry.node);
    if (!is_new) {
      complaints.add(entry.node->spot, "this point is included twice",
                     fmt::format("the first is in line {}", place_of(first->second->spot).line));
    }
  }
}

void check_baseline(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  if (!draft.baseline || !check_condition(*draft.baseline, "`baseline`", true, draft, space, complaints)) return;
  if (space.find_point(draft.baseline->condition)) return;
  complaints.add(draft.baseline->node->spot, "`baseline` matches no point that is left after `exclude`",
                 "speedup is relative to the points that match it");
}

/// Every name that a column can have before anything was measured: axes, columns, the metrics that the file declares.
std::vector<std::string> known_columns(const Draft& draft, const std::vector<std::string>& axes) {
  std::vector<std::string> known = axes;
  for (const DerivedDraft& entry : draft.derive) known.push_back(entry.derived.name);
  known.insert(known.end(), report_column_names().begin(), report_column_names().end());
  for (const Metric& metric : draft.experiment.work.metrics) known.push_back(metric.name);
  for (const OverrideDraft& entry : draft.overrides) {
    if (!entry.override_.metrics) continue;
    for (const Metric& metric : *entry.override_.metrics) known.push_back(metric.name);
  }
  return known;
}

void check_report_names(const Draft& draft, const std::vector<std::string>& axes, Complaints& complaints) {
  const std::vector<std::string> columns = known_columns(draft, axes);
  const YamlNode* report = draft.root->find("report");
  const auto check = [&](const std::string& name, const YamlSpot& spot, const std::string& key,
                         const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    complaints.add(
        spot, fmt::format("{} in `report.{}` is neither an axis nor a column{}", cite(name), key, did_you_mean(name, known)),
        fmt::format("axes: {}; columns: {}; others are `metric:NAME` and `fact:NAME`", cite_all(axes),
                    join(report_column_names(), ", ")));
  };
  const ReportSettings& settings = draft.experiment.report;
  const auto spot_of = [&](const char* key, std::size_t i) { return report->find(key)->items[i].spot; };
  for (std::size_t i = 0; i < settings.columns.size(); ++i) {
    const ShownColumn column = parse_shown_column(settings.columns[i]);
    const bool is_column = column.kind == ShownColumn::Kind::column;
    if (is_column || column.kind == ShownColumn::Kind::axis_or_column) {
      check(column.name, spot_of("columns", i), "columns", is_column ? report_column_names() : columns);
    }
  }
  for (std::size_t i = 0; i < settings.sort.size(); ++i) {
    check(parse_sort_key(settings.sort[i]).name, spot_of("sort", i), "sort", columns);
  }
  for (std::size_t i = 0; i < settings.group_by.size(); ++i)
    check(settings.group_by[i], spot_of("group_by", i), "group_by", columns);
  for (std::size_t i = 0; draft.where && i < draft.where->condition.size(); ++i) {
    check(draft.where->condition[i].first, draft.where->node->keys[i].spot, "where", columns);
  }
}

void check_where_values(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  if (!draft.where || draft.where->inherited) return;
  ConditionDraft of_axes = *draft.where;
  for (std::size_t i = 0; i < of_axes.condition.size(); ++i) {
    const auto& [name, values] = of_axes.condition[i];
    if (!space.has_axis(name)) continue;
    const YamlNode& item = of_axes.node->items[i];
    for (std::size_t k = 0; k < values.size() && !complaints.full(); ++k) {
      if (space.has_value(name, values[k], true)) continue;
      refuse_value(space, name, values[k], (item.is_list() ? item.items[k] : item).spot, complaints);
    }
  }
}

}  // namespace

bool axes_are_sound(const Draft& draft) {
  std::set<std::string_view> names;
  const std::vector<const AxisDraft*> axes = draft.product_axes();
  return std::all_of(axes.begin(), axes.end(),
                     [&](const AxisDraft* axis) { return !axis->axis.values.empty() && names.insert(axis->axis.name).second; });
}

void check_axes(const Draft& draft, Complaints& complaints) {
  std::unordered_map<std::string_view, const AxisDraft*> seen;
  for (const AxisDraft* axis : draft.product_axes()) {
    const auto [first, is_new] = seen.emplace(axis->axis.name, axis);
    if (is_new) continue;
    complaints.add(axis->name_spot, fmt::format("{} is an axis twice", cite(axis->axis.name)),
                   fmt::format("the first is in line {}: keep it in `matrix` or in one entry of `zip`",
                               place_of(first->second->name_spot).line));
  }
  const std::vector<std::string> axes = draft.axis_names();
  check_parameters(draft.experiment.work.parameters, draft.root->find("parameters"), draft, complaints);
  check_include(draft, complaints);
  check_report_names(draft, axes, complaints);
}

void check_points(const Draft& draft, const PointSpace& space, Complaints& complaints) {
  check_expressions(draft, space, complaints);
  check_excludes(draft, space, complaints);
  check_overrides(draft, space, complaints);
  check_baseline(draft, space, complaints);
  check_imports(draft, space, complaints);
  check_where_values(draft, space, complaints);
  const long long limit = draft.experiment.limits.configurations;
  const long long size = space.product_size() + static_cast<long long>(draft.include.size());
  if (size <= limit) return;
  const char* const key = !draft.matrix.empty() ? "matrix" : !draft.zip.empty() ? "zip" : "include";
  const std::string count = space.product_size() == PointSpace::kMany ? "more than 10^12" : std::to_string(size);
  complaints.add(draft.root->keys[draft.root->index_of(key)].spot,
                 fmt::format("this asks for {} points before `exclude`, more than `limits.configurations` ({})", count, limit),
                 "vary less, zip what goes together, or raise the limit");
}

}  // namespace hpcbench
