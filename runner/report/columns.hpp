#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "report/table.hpp"
#include "spec/report_columns.hpp"

namespace hpcbench {

/// The formatting of cells in one format.
struct CellStyle {
  std::string_view list_separator = ", ";  // between outcomes, between warnings
  /// The finest power of ten of imported values without an interval, in the unit of the table: all such rows are printed with
  /// the same digits, as in their publication.
  int published_exponent = 0;
};
CellStyle cell_style(const Table& table, std::string_view list_separator = ", ");

/// The tables that contain a column unless the user names columns.
enum ColumnPlace : unsigned {
  kText = 1,           // text, markdown, HTML
  kPaper = 2,          // LaTeX
  kPaperEnd = 4,       // after those of kPaper
  kCsv = 8,            // for programs
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
  int narrow = 0;  // above 0: left out on a narrow terminal, the smallest number first

  /// Returns the text; `-` for an absent value.
  std::string cell(const Table& table, const Row& row, const CellStyle& style) const;
};

/// Returns all columns: a new column is one row of this table and its name in report_column_names().
const std::vector<Column>& all_columns();
/// Returns the columns of this place that the table has, as entries `column:NAME`.
std::vector<std::string> columns_in(const Table& table, ColumnPlace place);
/// Writes the members of a row from column `first` to column `last`.
void write_columns(JsonWriter& json, const Table& table, const Row& row, std::string_view first, std::string_view last);
/// Finds a column by its name, else by its heading in a table that scales by `scale_by`; null if it does not exist.
const Column* find_column(std::string_view name, std::string_view scale_by = "");

/// InputError with the existing names if one is neither an axis, a column, nor one of `metrics`. Entries may have headings
/// (parse_shown_column); `fact:` and `metric:` are not checked.
void require_columns(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                     const std::vector<std::string>& metrics = {}, std::string_view scale_by = "");
/// Returns the metrics that such a list names: pass them in ReportOptions::metric_columns so that rows have them.
std::vector<std::string> metrics_among(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                                       std::string_view scale_by = "");

/// Does the same for sort keys (parse_sort_key), which cannot be facts.
void require_sort_keys(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                       const std::vector<std::string>& metrics, std::string_view scale_by = "");
/// Returns the metrics that sort keys name, as metrics_among.
std::vector<std::string> metrics_sorted_by(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                                           std::string_view scale_by = "");
/// Sorts the rows, stably: axes by value, columns and metrics by number, absent values last in either direction.
void sort_rows_by(Table& table, const std::vector<std::string>& keys);

/// One column of a grid.
struct GridColumn {
  std::string name;  // `median`, `strategy`, `fact:device`
  bool of_axis = false;
  std::string heading;
  bool is_number = false;  // numbers are aligned right
};

struct GridRow {
  std::vector<std::string> cells;
  std::vector<std::optional<double>> numbers;  // sort keys of the cells; nullopt: by their text
  const Row* row = nullptr;
};

/// One table of text: all cells as strings, ready for layout.
struct Grid {
  std::string heading;  // `precision=fp32`, if report.group_by splits the rows
  std::vector<GridColumn> columns;
  std::vector<GridRow> rows;
  bool is_further = false;  // of an inner axis: beside the table, not a part of it

  std::vector<std::string> header() const;
};

/// Returns a grid of these rows of the table (`rows`, `inner_rows`) with these columns, named as in report.columns.
Grid make_grid(const Table& table, const std::vector<Row>& rows, const std::vector<std::string>& entries,
               std::string_view list_separator = ", ");
/// Returns the columns for a paper, or those of report.columns: the configuration, n, the median and the speedup with their
/// intervals, the efficiency, and the outcomes unless all runs succeeded with a value and count.
std::vector<std::string> paper_columns(const Table& table);

/// Returns the tables of text formats: the usual columns or those of report.columns, one table for each group of rows; then one
/// with the rows of the inner axis, if there is one.
std::vector<Grid> make_grids(const Table& table);
std::vector<Grid> make_grids(const Table& table, const std::vector<std::string>& entries);

/// Returns the text above a table: the metric, its intervals, the baseline.
std::vector<std::string> caption(const Table& table);

/// A text below the table, besides warnings and notes: fits, and, if requested, methods, rules, provenance.
struct Section {
  std::string title;
  std::vector<std::string> lines;
};
std::vector<Section> sections(const Table& table, const PrintSettings& settings);

/// Returns how to find the files of a row, with the first row as the example; empty without rows.
std::string tracing_hint(const Table& table);

}  // namespace hpcbench
