#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

bool is_grouping(const Table& table, const std::string& axis) {
  return std::find(table.group_by.begin(), table.group_by.end(), axis) != table.group_by.end();
}

/// The usual columns, or those of report.columns; what all rows of a group share stands in its heading alone.
std::vector<std::string> chosen_columns(const Table& table) {
  if (!table.shown_columns.empty()) return table.shown_columns;
  std::vector<std::string> names;
  for (const std::string& axis : table.columns) {
    if (!is_grouping(table, axis)) names.push_back(axis);
  }
  for (const Column& column : all_columns()) {
    if (column.is_usual && (table.has_speedup || !column.is_speedup)) names.emplace_back(column.name);
  }
  return names;
}

std::string unit_suffix(const Table& table) {
  const std::string& unit = table.unit == "s" ? table.time_unit : table.unit;
  return unit.empty() ? "" : " (" + unit + ")";
}

/// An axis of that name goes before a column of that name.
const Column* column_unless_axis(const Table& table, const std::string& name) {
  const bool is_axis = std::find(table.axes.begin(), table.axes.end(), name) != table.axes.end();
  return is_axis ? nullptr : find_column(name);
}

std::string axis_text(const Row& row, const std::string& name) {
  const Value* value = find_binding(row.axes, name);
  return value == nullptr ? "-" : value->text();
}

/// Numbers and their like; texts such as the values of most axes stand to the left.
bool is_number_column(const Table& table, const std::string& name) {
  if (const Column* column = column_unless_axis(table, name)) {
    return column->name != "outcomes" && column->name != "warnings" && column->name != "config_id";
  }
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    const Value* value = find_binding(row.axes, name);
    return value == nullptr || value->is_number();
  });
}

Grid empty_grid(const Table& table, const std::vector<std::string>& names) {
  Grid grid;
  for (const std::string& name : names) {
    const Column* column = column_unless_axis(table, name);
    std::string heading = column == nullptr ? name : std::string(column->heading);
    if (column != nullptr && column->name == "median") heading += unit_suffix(table);
    grid.header.push_back(std::move(heading));
    grid.is_number.push_back(is_number_column(table, name));
  }
  return grid;
}

std::string metric_sentence(const Table& table) {
  const std::string limit = fmt::format("{:g} %", 100 * table.confidence);
  return fmt::format(
      "{}{}: n independent runs; their median, and its exact interval from order statistics with the coverage that it "
      "reaches ({} was asked for).",
      table.metric, unit_suffix(table), limit);
}

std::string baseline_text(const Condition& baseline) {
  std::vector<std::string> parts;
  for (const auto& [name, values] : baseline) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.text());
    parts.push_back(name + "=" + join(texts, "|"));
  }
  return join(parts, ", ");
}

}  // namespace

std::vector<Grid> make_grids(const Table& table) {
  const std::vector<std::string> names = chosen_columns(table);
  std::vector<const Column*> columns;  // null for an axis
  for (const std::string& name : names) columns.push_back(column_unless_axis(table, name));
  std::vector<Grid> grids;
  std::map<std::string, std::size_t> by_group;
  for (const Row& row : table.rows) {
    std::vector<std::string> parts;
    for (const std::string& axis : table.group_by) parts.push_back(axis + "=" + axis_text(row, axis));
    const std::string heading = join(parts, ", ");
    const auto [found, is_new] = by_group.emplace(heading, grids.size());
    if (is_new) {
      grids.push_back(empty_grid(table, names));
      grids.back().heading = heading;
    }
    std::vector<std::string> cells;
    cells.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      cells.push_back(columns[i] == nullptr ? axis_text(row, names[i]) : columns[i]->cell(table, row, {}));
    }
    grids[found->second].rows.push_back(std::move(cells));
  }
  return grids;
}

std::vector<std::string> caption(const Table& table) {
  std::vector<std::string> lines = {table.description.empty() ? table.experiment : table.experiment + ": " + table.description,
                                    metric_sentence(table)};
  if (table.has_speedup) {
    lines.push_back(
        fmt::format("Speedup over {}: Hodges-Lehmann estimate of the log ratio{}.", baseline_text(table.baseline),
                    table.paired ? " by blocks, with its exact signed-rank interval" : ", with its exact rank-sum interval"));
    lines.emplace_back(table.scaling == Scaling::weak
                           ? "Efficiency: the same ratio, as the work grows with the gpus (weak scaling)."
                           : "Efficiency: speedup / (gpus / the baseline's gpus).");
  }
  lines.emplace_back("Each interval holds for its row alone, not for all rows at once. What cannot be had is \"-\".");
  return lines;
}

std::string tracing_hint(const Table& table) {
  if (table.rows.empty()) return "";
  const Row& row = table.rows.front();
  return fmt::format("Trace a row to its files: hpcbench show {}/CONFIG_ID, for example hpcbench show {}/{} ({})",
                     table.experiment, table.experiment, row.config_id, row_label(table.columns, row));
}

}  // namespace hpcbench
