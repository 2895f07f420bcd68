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

/// Where `values[k]` of a condition stands: a list is several values, or, where there can be but one, the arguments of that.
const YamlNode& value_node(const YamlNode& item, const std::vector<Value>& values, std::size_t k) {
  return item.is_list() && item.items.size() == values.size() ? item.items[k] : item;
}

}  // namespace

void refuse_value(const PointSpace& space, const std::string& axis, const Value& value, const SourceLocation& location,
                  Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const Value& known : space.some_values(axis)) {
    if (known.text() == value.text()) {
      if (value.list() != nullptr) {
        diagnostics.add(location, fmt::format("{} has no value that is a list", cite(axis)),
                        fmt::format("one value stands here, without brackets: {}", known.text()));
        return;
      }
      if (value.is_text()) {
        diagnostics.add(
            location,
            fmt::format("{} has the {} {}, and this is the text {}", cite(axis), known.is_number() ? "number" : "boolean",
                        cite(known.text()), cite('"' + value.text() + '"')),
            fmt::format("write {} without quotes", value.text()));
      } else {
        diagnostics.add(location,
                        fmt::format("{} has the text {}, and this is the {} {}", cite(axis), cite('"' + known.text() + '"'),
                                    value.is_number() ? "number" : "boolean", cite(value.text())),
                        fmt::format("write \"{}\" here, or remove the quotes from the values of the axis", value.text()));
      }
      return;
    }
    texts.push_back(known.text());
  }
  diagnostics.add(location,
                  fmt::format("{} has no value {}{}", cite(axis), cite(value.text()), did_you_mean(value.text(), texts)),
                  value_advice(space, axis));
}

namespace {

constexpr const char* kRunForm = "{files: old/ddp.out, run: {strategy: ddp, nodes: 2}}";

/// Axes that the file names itself: nodes and gpus_per_node are there without it.
std::vector<std::string> said_axis_names(const ParsedExperiment& parsed) {
  std::vector<std::string> names;
  for (const ParsedAxis* axis : parsed.product_axes()) names.push_back(axis->axis.name);
  for (const ParsedPoint& entry : parsed.include) {
    for (const auto& [name, value] : entry.point) names.push_back(name);
  }
  return names;
}

void check_parameters(const Bindings& parameters, const YamlNode* node, const ParsedExperiment& parsed,
                      Diagnostics& diagnostics) {
  const std::vector<std::string> axes = parsed.axis_names();
  const std::vector<std::string> said = said_axis_names(parsed);
  for (const auto& [name, value] : parameters) {
    if (std::find(axes.begin(), axes.end(), name) == axes.end()) continue;
    if (std::find(said.begin(), said.end(), name) == said.end()) {
      diagnostics.add(node->keys[node->index_of(name)].location,
                      fmt::format("{} says how large a run is, which only an axis does", cite(name)),
                      fmt::format("write matrix: {{{}: [{}]}}", name, value.text()));
      continue;
    }
    diagnostics.add(node->keys[node->index_of(name)].location,
                    fmt::format("{} is an axis: it cannot be a parameter, too", cite(name)),
                    "keep it in one of the two places");
  }
}

/// True if every name is an axis and every value one of its values.
bool check_condition(const ParsedCondition& parsed, const std::string& what, bool included, const ParsedExperiment& whole,
                     const PointSpace& space, Diagnostics& diagnostics) {
  bool good = true;
  const std::vector<std::string> axes = whole.axis_names();
  for (std::size_t i = 0; i < parsed.condition.size(); ++i) {
    const auto& [name, values] = parsed.condition[i];
    if (!space.has_axis(name)) {
      const bool parameter = find_binding(whole.experiment.work.parameters, name) != nullptr;
      const bool derived = std::any_of(whole.derive.begin(), whole.derive.end(),
                                       [&](const ParsedDerived& entry) { return entry.derived.name == name; });
      diagnostics.add(parsed.node->keys[i].location,
                      fmt::format("{} in {} is no axis{}", cite(name), what, derived ? "" : did_you_mean(name, axes)),
                      parameter ? "it is a parameter: all points have the same value"
                      : derived ? "it is derived: name the axes that it comes from"
                                : "axes: " + cite_all(axes));
      good = false;
      continue;
    }
    if (parsed.inherited) continue;
    for (std::size_t k = 0; k < values.size() && !diagnostics.full(); ++k) {
      if (space.has_value(name, values[k], included)) continue;
      const YamlNode& item = parsed.node->items[i];
      refuse_value(space, name, values[k], value_node(item, values, k).location, diagnostics);
      good = false;
    }
  }
  return good;
}

void check_excludes(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  for (const ParsedCondition& exclude : parsed.exclude) {
    if (diagnostics.full()) return;
    if (exclude.expression) continue;  // make_plan says whether it is true somewhere
    if (!check_condition(exclude, "`exclude`", false, parsed, space, diagnostics) || space.product_matches(exclude.condition))
      continue;
    diagnostics.add(exclude.node->location, "this exclude matches nothing",
                    parsed.matrix.empty() && parsed.zip.empty() ? "points of `include` are never excluded"
                                                                : "no point has these values together");
  }
}

void check_overrides(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  for (const ParsedOverride& entry : parsed.overrides) {
    if (diagnostics.full()) return;
    check_parameters(entry.override_.parameters, entry.node->find("parameters"), parsed, diagnostics);
    if (entry.when.expression) continue;  // make_plan says whether it is true somewhere
    if (!check_condition(entry.when, "`when`", true, parsed, space, diagnostics)) continue;
    if (!space.find_point(entry.when.condition)) {
      diagnostics.add(entry.when.node->location, "this override matches nothing",
                      "no point that is left after `exclude` has these values");
    }
  }
}

/// Whether some axis has several values, so that a point must be named.
bool space_has_choice(const ParsedExperiment& parsed) {
  const std::vector<const ParsedAxis*> axes = parsed.product_axes();
  return parsed.include.size() + (axes.empty() ? 0 : 1) > 1 ||
         std::any_of(axes.begin(), axes.end(), [](const ParsedAxis* axis) { return axis->axis.values.size() > 1; });
}

void check_imports(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  for (const ParsedImport& entry : parsed.imports) {
    if (diagnostics.full()) return;
    if (entry.needs_run != nullptr && space_has_choice(parsed)) {
      diagnostics.add(entry.needs_run->location, "an import needs `run`: which point it is", kRunForm);
    }
    if (!entry.run || !check_condition(*entry.run, "`run`", true, parsed, space, diagnostics)) continue;
    if (!space.find_point(entry.run->condition)) {
      diagnostics.add(entry.run->node->location, "no point has these values",
                      "`run` names a point of the matrix: {strategy: ddp}");
    }
  }
}

void check_include(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (parsed.include.empty()) return;
  std::vector<std::string> axes;
  for (const ParsedAxis* axis : parsed.product_axes()) axes.push_back(axis->axis.name);
  if (axes.empty()) {
    for (const auto& [name, value] : parsed.include.front().point) axes.push_back(name);
  }
  std::unordered_map<std::string, const YamlNode*> seen;
  for (const ParsedPoint& entry : parsed.include) {
    if (diagnostics.full()) return;
    std::vector<std::string> missing;
    for (const std::string& axis : axes) {
      if (find_binding(entry.point, axis) == nullptr) missing.push_back(axis);
    }
    if (!missing.empty()) {
      diagnostics.add(entry.node->location, fmt::format("this point does not say {}", cite_all(missing)),
                      "a point of `include` names every axis");
    }
    std::string identity;
    std::vector<std::pair<std::string, std::string>> sorted;
    for (std::size_t i = 0; i < entry.point.size(); ++i) {
      const std::string& name = entry.point[i].first;
      sorted.emplace_back(name, entry.point[i].second.canonical());
      const bool known = std::find(axes.begin(), axes.end(), name) != axes.end() || name == "nodes" || name == "gpus_per_node";
      if (!known) {
        diagnostics.add(entry.node->keys[i].location,
                        fmt::format("{} in `include` is no axis{}", cite(name), did_you_mean(name, axes)),
                        "axes: " + cite_all(axes));
      }
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, value] : sorted) identity += name + '=' + value + ',';
    const auto [first, is_new] = seen.emplace(identity, entry.node);
    if (!is_new) {
      diagnostics.add(entry.node->location, "this point is included twice",
                      fmt::format("the first is in line {}", place_of(first->second->location).line));
    }
  }
}

void check_baseline(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  if (!parsed.baseline || !check_condition(*parsed.baseline, "`baseline`", true, parsed, space, diagnostics)) return;
  if (space.find_point(parsed.baseline->condition)) return;
  diagnostics.add(parsed.baseline->node->location, "`baseline` matches no point that is left after `exclude`",
                  "speedup is relative to the points that match it");
}

/// Every name that a column can have before anything was measured: axes, columns, the metrics that the file declares.
std::vector<std::string> known_columns(const ParsedExperiment& parsed, const std::vector<std::string>& axes) {
  std::vector<std::string> known = axes;
  for (const ParsedDerived& entry : parsed.derive) known.push_back(entry.derived.name);
  known.insert(known.end(), report_column_names().begin(), report_column_names().end());
  for (const Metric& metric : parsed.experiment.work.metrics) known.push_back(metric.name);
  for (const Metric& metric : parsed.experiment.described) known.push_back(metric.name);
  for (const ParsedOverride& entry : parsed.overrides) {
    if (!entry.override_.metrics) continue;
    for (const Metric& metric : *entry.override_.metrics) known.push_back(metric.name);
  }
  return known;
}

/// `report.group_by` and `report.where` name axes, the latter also computed values.
void check_axes_of_report(const ParsedExperiment& parsed, const std::vector<std::string>& axes, Diagnostics& diagnostics) {
  const auto check = [&](const std::string& name, const SourceLocation& location, const std::string& key,
                         const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    diagnostics.add(location, fmt::format("{} in `report.{}` is no axis{}", cite(name), key, did_you_mean(name, known)),
                    fmt::format("there are: {}", cite_all(known)));
  };
  const std::vector<std::string>& groups = parsed.experiment.report.group_by;
  for (std::size_t i = 0; i < groups.size(); ++i)
    check(groups[i], parsed.root->find("report")->find("group_by")->items[i].location, "group_by", axes);
  std::vector<std::string> names = axes;
  for (const ParsedDerived& entry : parsed.derive) names.push_back(entry.derived.name);
  for (std::size_t i = 0; parsed.where && i < parsed.where->condition.size(); ++i)
    check(parsed.where->condition[i].first, parsed.where->node->keys[i].location, "where", names);
}

void check_report_names(const ParsedExperiment& parsed, const std::vector<std::string>& axes, Diagnostics& diagnostics) {
  const std::vector<std::string> columns = known_columns(parsed, axes);
  const YamlNode* report = parsed.root->find("report");
  const bool has_ranks = std::find(axes.begin(), axes.end(), kRanksPerNode) != axes.end();
  const ScaleBy unit = parsed.experiment.report.scale_by.value_or(has_ranks ? ScaleBy::ranks : ScaleBy::nodes);
  const std::string scale_by = to_string(unit);
  const auto check = [&](const std::string& name, const SourceLocation& location, const std::string& key,
                         const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    if (!column_of_heading(name, scale_by).empty()) return;
    diagnostics.add(
        location,
        fmt::format("{} in `report.{}` is neither an axis nor a column{}", cite(name), key, did_you_mean(name, known)),
        fmt::format("axes: {}; columns: {}; others are `metric:NAME` and `fact:NAME`", cite_all(axes),
                    join(report_column_names(), ", ")));
  };
  const ReportSettings& settings = parsed.experiment.report;
  const auto location_of = [&](const char* key, std::size_t i) { return report->find(key)->items[i].location; };
  const auto check_column = [&](const ShownColumn& column, const char* key, std::size_t i) {
    const bool is_column = column.kind == ShownColumn::Kind::column;
    if (is_column || column.kind == ShownColumn::Kind::axis_or_column) {
      check(column.name, location_of(key, i), key, is_column ? report_column_names() : columns);
    }
  };
  for (std::size_t i = 0; i < settings.columns.size(); ++i) check_column(parse_shown_column(settings.columns[i]), "columns", i);
  for (std::size_t i = 0; i < settings.sort.size(); ++i) check_column(parse_sort_key(settings.sort[i]).column, "sort", i);
  check_axes_of_report(parsed, axes, diagnostics);
}

void check_where_values(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  if (!parsed.where || parsed.where->inherited) return;
  ParsedCondition of_axes = *parsed.where;
  for (std::size_t i = 0; i < of_axes.condition.size(); ++i) {
    const auto& [name, values] = of_axes.condition[i];
    if (!space.has_axis(name)) continue;
    const YamlNode& item = of_axes.node->items[i];
    for (std::size_t k = 0; k < values.size() && !diagnostics.full(); ++k) {
      if (space.has_value(name, values[k], true)) continue;
      refuse_value(space, name, values[k], value_node(item, values, k).location, diagnostics);
    }
  }
}

/// An inherited one that matches nothing is told by the report (warn_reference).
void check_references(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  for (const ParsedReference& entry : parsed.references) {
    if (diagnostics.full()) return;
    if (!entry.when || entry.when->expression) continue;  // check_report says whether it is true somewhere
    if (!check_condition(*entry.when, "`when`", true, parsed, space, diagnostics)) continue;
    if (entry.when->inherited || space.find_point(entry.when->condition)) continue;
    diagnostics.add(entry.when->node->location, "this reference matches nothing",
                    "no point that is left after `exclude` has these values");
  }
}

/// Nodes without gpus need `ranks_per_node`, which gives `ranks` its meaning.
void check_ranks(const ParsedExperiment& parsed, const std::vector<std::string>& axes, Diagnostics& diagnostics) {
  const bool ranks = std::find(axes.begin(), axes.end(), kRanksPerNode) != axes.end();
  const auto check_gpus = [&](const std::string& axis, const Value& value, const YamlNode& node) {
    if (ranks || axis != "gpus_per_node" || value.integer() != 0) return;
    diagnostics.add(node.location, "`gpus_per_node` must be a positive integer, not `0`",
                    "a program without gpus has the axis ranks_per_node, how many processes a node has");
  };
  const auto check_name = [&](const std::string& name, const SourceLocation& location) {
    if (ranks && name == "ranks") diagnostics.add(location, "`ranks` is nodes x ranks_per_node", "choose another name");
  };
  for (const ParsedAxis* axis : parsed.product_axes()) {
    check_name(axis->axis.name, axis->name_location);
    for (std::size_t i = 0; i < axis->axis.values.size(); ++i)
      check_gpus(axis->axis.name, axis->axis.values[i], axis->node->items[i]);
  }
  for (const ParsedPoint& entry : parsed.include) {
    for (std::size_t i = 0; i < entry.point.size(); ++i)
      check_gpus(entry.point[i].first, entry.point[i].second, entry.node->items[i]);
  }
  for (const YamlNode* map : {parsed.root->find("parameters"), parsed.root->find("derive")}) {
    for (std::size_t i = 0; map != nullptr && i < map->keys.size(); ++i) check_name(map->keys[i].name, map->keys[i].location);
  }
}

/// Points without a gpu cannot be compared by their gpus, and have no rate per GPU.
void check_scale(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  if (!space.find_point({{"gpus_per_node", {Value::from_integer(0)}}})) return;
  if (parsed.experiment.report.scale_by == ScaleBy::gpus) {
    diagnostics.add(parsed.root->find("report")->find("scale_by")->location,
                    "`report.scale_by: gpus` cannot compare points without gpus",
                    "write ranks, nodes or cores, or give every point gpus_per_node");
  }
  const YamlNode* const metrics = parsed.root->find("metrics");
  for (std::size_t i = 0; metrics != nullptr && i < metrics->items.size(); ++i) {
    if (metrics->items[i].index_of("per") == YamlNode::npos) continue;
    diagnostics.add(metrics->items[i].find("per")->location, "`per: gpus` divides by gpus, and points have none",
                    "leave it out, write a formula such as rate / ranks, or give every point gpus_per_node");
  }
}

}  // namespace

bool axes_are_sound(const ParsedExperiment& parsed) {
  std::set<std::string_view> names;
  const std::vector<const ParsedAxis*> axes = parsed.product_axes();
  return std::all_of(axes.begin(), axes.end(), [&](const ParsedAxis* axis) {
    return !axis->axis.values.empty() && names.insert(axis->axis.name).second;
  });
}

void check_axes(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, const ParsedAxis*> seen;
  for (const ParsedAxis* axis : parsed.product_axes()) {
    const auto [first, is_new] = seen.emplace(axis->axis.name, axis);
    if (is_new) continue;
    diagnostics.add(axis->name_location, fmt::format("{} is an axis twice", cite(axis->axis.name)),
                    fmt::format("the first is in line {}: keep it in `matrix` or in one entry of `zip`",
                                place_of(first->second->name_location).line));
  }
  const std::vector<std::string> axes = parsed.axis_names();
  check_parameters(parsed.experiment.work.parameters, parsed.root->find("parameters"), parsed, diagnostics);
  check_include(parsed, diagnostics);
  check_ranks(parsed, axes, diagnostics);
  check_report_names(parsed, axes, diagnostics);
}

void check_points(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  check_expressions(parsed, space, diagnostics);
  check_formulas(parsed, space, diagnostics);
  check_excludes(parsed, space, diagnostics);
  check_overrides(parsed, space, diagnostics);
  check_baseline(parsed, space, diagnostics);
  check_imports(parsed, space, diagnostics);
  check_where_values(parsed, space, diagnostics);
  check_references(parsed, space, diagnostics);
  check_scale(parsed, space, diagnostics);
  const long long limit = parsed.experiment.limits.configurations;
  const long long size = space.product_size() + static_cast<long long>(parsed.include.size());
  if (size <= limit) return;
  const char* const key = !parsed.matrix.empty() ? "matrix" : !parsed.zip.empty() ? "zip" : "include";
  const std::string count = space.product_size() == PointSpace::kMany ? "more than 10^12" : std::to_string(size);
  diagnostics.add(parsed.root->keys[parsed.root->index_of(key)].location,
                  fmt::format("this asks for {} points before `exclude`, more than `limits.configurations` ({})", count, limit),
                  "vary less, zip what goes together, or raise the limit");
}

}  // namespace hpcbench
