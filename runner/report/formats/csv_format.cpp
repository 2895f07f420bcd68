#include <algorithm>

#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"

namespace hpcbench {
namespace {

/// Makes absent values empty cells, so that a column of numbers is read as numbers. An axis may have the value `-`.
void empty_absent_cells(Grid& grid) {
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const GridColumn& column = grid.columns[i];
    for (GridRow& row : grid.rows) {
      const bool is_value = column.of_axis && find_binding(row.row->axes, column.name) != nullptr;
      if (row.cells[i] == kAbsentCell && !is_value) row.cells[i].clear();
    }
  }
}

/// Returns all axes and columns, for the rows of an inner axis if there are any; with --columns only those, and the warnings.
Grid csv_grid(const Table& table, const PrintSettings& settings) {
  if (!settings.columns_asked) {
    std::vector<std::string> entries = table.axes;
    if (!table.inner_rows.empty()) entries.push_back(table.inner->name);
    entries.insert(entries.end(), table.derived.begin(), table.derived.end());
    for (const ColumnPlace place : {kCsv, kCsvEnd}) {
      for (std::string& entry : columns_in(table, place)) entries.push_back(std::move(entry));
    }
    Grid grid = make_grid(table, table.inner_rows.empty() ? table.rows : table.inner_rows, entries, ";");
    for (GridColumn& column : grid.columns) {
      if (!column.of_axis) column.heading = column.name;
    }
    return grid;
  }
  std::vector<std::string> entries = table.shown_columns;
  const bool has_warnings = std::any_of(entries.begin(), entries.end(),
                                        [](const std::string& entry) { return parse_shown_column(entry).name == "warnings"; });
  if (!has_warnings) entries.emplace_back("warnings");
  return make_grid(table, table.rows, entries, ";");
}

}  // namespace

std::string print_csv(const Table& table, const PrintSettings& settings) {
  Grid grid = csv_grid(table, settings);
  empty_absent_cells(grid);
  std::string out;
  out += csv_line(grid.header());
  for (const GridRow& row : grid.rows) out += csv_line(row.cells);
  return out;
}

}  // namespace hpcbench
