#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// Computed values are treated like axes.
bool is_axis(const Table& table, const std::string& name) {
  return std::find(table.axes.begin(), table.axes.end(), name) != table.axes.end() ||
         std::find(table.derived.begin(), table.derived.end(), name) != table.derived.end() ||
         (table.inner && table.inner->name == name);
}

/// Returns the axes and computed values; a value that all rows of a group share appears only in its heading.
std::vector<std::string> configuration_columns(const Table& table) {
  std::vector<std::string> names;
  for (const std::string& axis : table.columns) {
    if (std::find(table.group_by.begin(), table.group_by.end(), axis) == table.group_by.end()) names.push_back(axis);
  }
  names.insert(names.end(), table.derived_columns.begin(), table.derived_columns.end());
  return names;
}

std::vector<std::string> joined(std::vector<std::string> names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// Returns the usual columns that have a cell, or those of report.columns.
std::vector<std::string> chosen_columns(const Table& table) {
  if (!table.shown_columns.empty()) return table.shown_columns;
  return joined(configuration_columns(table), columns_in(table, kText));
}

/// Returns the axes that distinguish rows of the inner axis, and the columns of their own values.
std::vector<std::string> inner_columns(const Table& table) {
  std::vector<std::string> names = joined(table.columns, table.derived_columns);
  names.push_back(table.inner->name);
  return joined(std::move(names), columns_in(table, kInner));
}

std::string unit_suffix(const Table& table) {
  const std::string& unit = table.unit == "s" ? table.time_unit : table.unit;
  return unit.empty() ? "" : " (" + unit + ")";
}

/// Returns the value of an axis or a computed value; null if the row has none.
const Value* find_value(const Row& row, const std::string& name) {
  const Value* value = find_binding(row.axes, name);
  return value != nullptr ? value : find_binding(row.derived, name);
}

std::string axis_text(const Row& row, const std::string& name) {
  const Value* value = find_value(row, name);
  return value == nullptr ? kAbsentCell : value->text();
}

/// A column and the source of its cells.
struct CellSource {
  ShownColumn shown;
  bool of_axis = false;
  const Column* column = nullptr;  // null for axes, facts and metrics
};

CellSource find_source(const Table& table, const std::string& entry) {
  CellSource source{parse_shown_column(entry), false, nullptr};
  const bool is_column = source.shown.kind == ShownColumn::Kind::column;
  if (!is_column && source.shown.kind != ShownColumn::Kind::axis_or_column) return source;
  source.of_axis = !is_column && is_axis(table, source.shown.name);
  if (source.of_axis) return source;
  source.column = find_column(source.shown.name, table.scale_by);
  if (source.column != nullptr) source.shown.name = source.column->name;
  if (source.column == nullptr) source.shown.kind = ShownColumn::Kind::metric;
  return source;
}

/// Returns whether cells are numbers or similar, aligned right; texts such as most axes are aligned left.
bool is_number_source(const Table& table, const CellSource& source) {
  if (source.column != nullptr) return source.column->number != nullptr;
  if (source.shown.kind == ShownColumn::Kind::metric) return true;
  if (source.shown.kind == ShownColumn::Kind::fact) return false;
  const auto is_number = [&](const Row& row) {
    const Value* value = find_value(row, source.shown.name);
    return value == nullptr || value->is_number();
  };
  return std::all_of(table.rows.begin(), table.rows.end(), is_number) &&
         std::all_of(table.inner_rows.begin(), table.inner_rows.end(), is_number);
}

GridColumn grid_column(const Table& table, const CellSource& source) {
  GridColumn result{source.shown.name, source.of_axis, source.shown.name, is_number_source(table, source)};
  // An axis with the name of a column: both may be in one table.
  if (source.of_axis && find_column(source.shown.name) != nullptr) result.heading = "axis:" + source.shown.name;
  if (source.column != nullptr) {
    result.heading = std::string(source.column->heading);
    if (source.column->name == "scale") result.heading = table.scale_by;
    if (source.column->name.starts_with("median")) result.heading = value_word(table) + unit_suffix(table);
    if (source.column->name == "ratio_of_medians" && value_word(table) != "median") result.heading = "ratio of values";
    if (source.column->name == "time_to_target") result.heading += " (" + table.time_unit + ")";
  }
  if (source.shown.heading) result.heading = *source.shown.heading;
  return result;
}

void append_cell(GridRow& out, const Table& table, const Row& row, const CellSource& source, const CellStyle& style) {
  std::optional<double> number;
  if (source.column != nullptr) {
    out.cells.push_back(source.column->cell(table, row, style));
    if (source.column->number != nullptr) number = source.column->number(row);
  } else if (source.of_axis) {
    out.cells.push_back(axis_text(row, source.shown.name));
    if (const Value* value = find_value(row, source.shown.name)) number = value->number();
  } else if (source.shown.kind == ShownColumn::Kind::fact) {
    out.cells.push_back(fact_cell(row, source.shown.name));
  } else {
    out.cells.push_back(metric_of_row_cell(row, source.shown.name));
    if (const auto found = row.metrics.find(source.shown.name); found != row.metrics.end()) number = found->second;
  }
  out.numbers.push_back(number);
}

/// Makes the rows of tables that have the same columns.
class GridMaker {
 public:
  GridMaker(const Table& table, const std::vector<std::string>& entries, std::string_view list_separator)
      : table_(table), style_(cell_style(table, list_separator)) {
    for (const std::string& entry : entries) {
      sources_.push_back(find_source(table, entry));
      columns_.push_back(grid_column(table, sources_.back()));
    }
  }
  Grid empty(std::string heading) const { return {std::move(heading), columns_, {}}; }
  GridRow row(const Row& row) const {
    GridRow result;
    result.row = &row;
    result.cells.reserve(sources_.size());
    result.numbers.reserve(sources_.size());
    for (const CellSource& source : sources_) append_cell(result, table_, row, source, style_);
    return result;
  }

 private:
  const Table& table_;
  CellStyle style_;
  std::vector<CellSource> sources_;
  std::vector<GridColumn> columns_;
};

}  // namespace

std::vector<std::string> Grid::header() const {
  std::vector<std::string> texts;
  for (const GridColumn& column : columns) texts.push_back(column.heading);
  return texts;
}

Grid make_grid(const Table& table, const std::vector<Row>& rows, const std::vector<std::string>& entries,
               std::string_view list_separator) {
  const GridMaker maker(table, entries, list_separator);
  Grid grid = maker.empty("");
  grid.rows.reserve(rows.size());
  for (const Row& row : rows) grid.rows.push_back(maker.row(row));
  return grid;
}

std::vector<std::string> paper_columns(const Table& table) {
  if (!table.shown_columns.empty()) return table.shown_columns;
  return joined(joined(configuration_columns(table), columns_in(table, kPaper)), columns_in(table, kPaperEnd));
}

std::vector<Grid> make_grids(const Table& table) { return make_grids(table, chosen_columns(table)); }

std::vector<Grid> make_grids(const Table& table, const std::vector<std::string>& entries) {
  const GridMaker maker(table, entries, ", ");
  std::vector<Grid> grids;
  std::map<std::string, std::size_t> by_group;
  for (const Row& row : table.rows) {
    std::vector<std::string> parts;
    for (const std::string& axis : table.group_by) parts.push_back(axis + "=" + axis_text(row, axis));
    const std::string heading = join(parts, ", ");
    const auto [found, is_new] = by_group.emplace(heading, grids.size());
    if (is_new) grids.push_back(maker.empty(heading));
    grids[found->second].rows.push_back(maker.row(row));
  }
  if (!table.inner_rows.empty()) {
    grids.push_back(make_grid(table, table.inner_rows, inner_columns(table)));
    grids.back().heading = table.metric + " by " + table.inner->name;
    grids.back().is_further = true;
  }
  return grids;
}

}  // namespace hpcbench
