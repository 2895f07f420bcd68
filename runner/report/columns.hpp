#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "report/table.hpp"
#include "spec/report_columns.hpp"

namespace hpcbench {

/// How the cells of one format are made.
struct CellStyle {
  std::string_view list_separator = ", ";  // between outcomes, between warnings
  /// The finest power of ten in which imported values without an interval are given, in the unit of the table: all such rows
  /// are printed alike, as in the publication they come from.
  int published_exponent = 0;
};
CellStyle cell_style(const Table& table, std::string_view list_separator = ", ");

/// The tables in which a column stands unless the columns are named.
enum ColumnPlace : unsigned {
  kText = 1,           // text, markdown, HTML
  kPaper = 2,          // LaTeX
  kPaperEnd = 4,       // after those of kPaper
  kCsv = 8,            // what programs rely on
  kCsvEnd = 16,        // after those of kCsv
  kInner = 32,         // the table of an inner axis
  kJson = 64,          // a member of a row: `write`, else the number under the column's name
  kOnlySpeedup = 128,  // not in tables for people without speedups
};

/// A column beside the axes. All formats follow this one declaration.
struct Column {
  std::string_view name;  // one of report_column_names()
  std::string_view heading;
  unsigned places = 0;                                        // of ColumnPlace
  std::optional<double> (*number)(const Row& row) = nullptr;  // rows are sorted by it; null: by the cell's text
  /// Null: the number with three digits.
  std::string (*print)(const Table& table, const Row& row, const CellStyle& style) = nullptr;
  void (*write)(JsonWriter& json, const Row& row) = nullptr;
  int narrow = 0;  // above 0: a narrow terminal goes without it, the smallest number first

  /// `-` stands for an absent value.
  std::string cell(const Table& table, const Row& row, const CellStyle& style) const;
};

/// Everything that can be printed of a row: adding a column is one row of this table and its name in report_column_names().
const std::vector<Column>& all_columns();
/// Entries `column:NAME` of those that stand in this place of this table.
std::vector<std::string> columns_in(const Table& table, ColumnPlace place);
/// Writes the members of a row from column `first` to column `last`.
void write_columns(JsonWriter& json, const Table& table, const Row& row, std::string_view first, std::string_view last);
/// By its name, else by its heading in a table that scales by `scale_by`; null if there is none.
const Column* find_column(std::string_view name, std::string_view scale_by = "");

/// InputError with the names that there are, if one is neither an axis, a column, nor one of `metrics`. Entries may have
/// headings of their own (parse_shown_column); `fact:` and `metric:` are not looked up.
void require_columns(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                     const std::vector<std::string>& metrics = {}, std::string_view scale_by = "");
/// The metrics that such a list names: what ReportOptions::metric_columns must hold so that rows have them.
std::vector<std::string> metrics_among(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                                       std::string_view scale_by = "");

/// The same of sort keys (parse_sort_key), which cannot be facts.
void require_sort_keys(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                       const std::vector<std::string>& metrics, std::string_view scale_by = "");
/// The metrics that sort keys name, as metrics_among.
std::vector<std::string> metrics_sorted_by(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                                           std::string_view scale_by = "");
/// Sorts the rows, stably: axes by value, columns and metrics by number, what is absent last in either direction.
void sort_rows_by(Table& table, const std::vector<std::string>& keys);

/// One column of a grid.
struct GridColumn {
  std::string name;  // `median`, `strategy`, `fact:device`
  bool of_axis = false;
  std::string heading;
  bool is_number = false;  // a column of numbers stands to the right
};

struct GridRow {
  std::vector<std::string> cells;
  std::vector<std::optional<double>> numbers;  // what to sort the cells by; absent: by their text
  const Row* row = nullptr;
};

/// One table of text: all cells as strings, ready to be laid out.
struct Grid {
  std::string heading;  // `precision=fp32`, where report.group_by splits the rows
  std::vector<GridColumn> columns;
  std::vector<GridRow> rows;
  bool is_further = false;  // of an inner axis: beside the table, not a part of it

  std::vector<std::string> header() const;
};

/// These rows of the table (`rows`, `inner_rows`) with these columns, as report.columns names them.
Grid make_grid(const Table& table, const std::vector<Row>& rows, const std::vector<std::string>& entries,
               std::string_view list_separator = ", ");
/// The columns of a table of a paper, or those of report.columns: the configuration, n, the median and the speedup with their
/// intervals, the efficiency, and the outcomes where not all runs succeeded with a value and count.
std::vector<std::string> paper_columns(const Table& table);

/// The tables that text formats print: the usual columns or those of report.columns, one table for each group of rows; then,
/// where there is an inner axis, one with its rows.
std::vector<Grid> make_grids(const Table& table);
std::vector<Grid> make_grids(const Table& table, const std::vector<std::string>& entries);

/// What stands above a table: the metric, what its intervals are and say, the baseline.
std::vector<std::string> caption(const Table& table);

/// What stands below it, beside warnings and notes: fits, and, where asked for, methods, rules, provenance.
struct Section {
  std::string title;
  std::vector<std::string> lines;
};
std::vector<Section> sections(const Table& table, const PrintSettings& settings);

/// How to get from a row to its files, with the first row as the example; empty without rows.
std::string tracing_hint(const Table& table);

}  // namespace hpcbench
