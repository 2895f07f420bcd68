#include "spec/report_columns.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace hpcbench {

const std::vector<std::string>& report_column_names() {
  static const std::vector<std::string> kNames = {
      "gpus",
      "scale",
      "n",
      "median",
      "interval",
      "median_with_interval",
      "low",
      "high",
      "coverage",
      "q1",
      "q3",
      "min",
      "max",
      "speedup",
      "speedup_with_interval",
      "speedup_low",
      "speedup_high",
      "efficiency",
      "speedup_interval",
      "karp_flatt",
      "ratio_of_medians",
      "time_saved",
      "train_loss",
      "best_epoch",
      "validation_loss",
      "generalisation_gap",
      "overfits_from",
      "time_to_target",
      "phases",
      "samples_per_s",
      "tokens_per_s",
      "gpu_hours",
      "mfu",
      "imbalance",
      "nodes_seen",
      "outcomes",
      "set_aside",
      "warnings",
      "source",
      "statistic",
      "config_id",
  };
  return kNames;
}

std::string column_of_heading(std::string_view heading, std::string_view scale_by) {
  if (!heading.empty() && heading == scale_by) return "scale";
  heading = trim(heading.substr(0, heading.find(" (")));  // without a unit
  std::string name;
  for (const char c : heading) {
    if (c == '/') {
      name += "_per_";
    } else {
      name += c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (name == "overfits_from_epoch") name = "overfits_from";
  const std::vector<std::string>& names = report_column_names();
  return std::find(names.begin(), names.end(), name) != names.end() ? name : "";
}

namespace {

/// Without the `axis:` that tables print before an axis of the name of a column: a name is an axis first in any case.
std::string_view without_axis_prefix(std::string_view name) {
  constexpr std::string_view kAxis = "axis:";
  return name.starts_with(kAxis) ? name.substr(kAxis.size()) : name;
}

}  // namespace

ShownColumn parse_shown_column(std::string_view entry) {
  ShownColumn column;
  if (const std::size_t at = entry.find('='); at != std::string_view::npos) {
    column.heading = std::string(trim(entry.substr(at + 1)));
    entry = entry.substr(0, at);
  }
  entry = without_axis_prefix(trim(entry));
  constexpr std::array<std::pair<std::string_view, ShownColumn::Kind>, 3> kKinds = {
      {{"column:", ShownColumn::Kind::column}, {"fact:", ShownColumn::Kind::fact}, {"metric:", ShownColumn::Kind::metric}}};
  for (const auto& [prefix, kind] : kKinds) {
    if (!entry.starts_with(prefix)) continue;
    entry.remove_prefix(prefix.size());
    column.kind = kind;
    break;
  }
  column.name = std::string(entry);
  return column;
}

SortKey parse_sort_key(std::string_view entry) {
  SortKey key;
  entry = trim(entry);
  key.descending = entry.starts_with('-');
  if (key.descending) entry.remove_prefix(1);
  key.column = parse_shown_column(entry);
  if (key.column.heading) key.column = {ShownColumn::Kind::axis_or_column, std::string(entry), {}};
  return key;
}

}  // namespace hpcbench
