#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// How the cells of one format are made.
struct CellStyle {
  std::string_view list_separator = ", ";  // between outcomes, between warnings
};

/// A column beside the axes. `-` stands for what cannot be had.
struct Column {
  std::string_view name;  // as report.columns and the header of csv have it
  std::string_view heading;
  bool is_usual = false;    // in text and markdown unless report.columns says otherwise
  bool is_speedup = false;  // left out of these where there are no speedups
  std::string (*cell)(const Table& table, const Row& row, const CellStyle& style);
};

/// Everything that can be printed of a row: adding a column is one row of this table.
const std::vector<Column>& all_columns();
const Column* find_column(std::string_view name);

/// InputError with the names that there are, if one is neither an axis nor a column.
void require_columns(const std::vector<std::string>& names, const std::vector<std::string>& axes);

/// One table of text: all cells as strings, ready to be laid out.
struct Grid {
  std::string heading;  // `precision=fp32`, where report.group_by splits the rows
  std::vector<std::string> header;
  std::vector<bool> is_number;  // a column of numbers stands to the right
  std::vector<std::vector<std::string>> rows;
};

/// The tables that text and markdown print: the usual columns or those of report.columns, one for each group of rows.
std::vector<Grid> make_grids(const Table& table);

/// What stands above a table: the metric, what its intervals are and say, the baseline.
std::vector<std::string> caption(const Table& table);

/// How to get from a row to its files, with the first row as the example; empty without rows.
std::string tracing_hint(const Table& table);

}  // namespace hpcbench
