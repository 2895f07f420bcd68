#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "imports/import_request.hpp"
#include "imports/table_column.hpp"
#include "ingest/csv_text.hpp"

namespace hpcbench {

/// The headings of one imported table, and the meaning of its columns.
class TableHeader {
 public:
  using Places = std::vector<CsvReader::CellPlace>;

  TableHeader(const Study& study, const Import& import, const std::string& table, ImportPlan& plan)
      : study_(study), import_(import), table_(table), plan_(plan) {}

  /// Problems and notes about the headings go to the plan. False if no line can be read.
  bool read(long long line, std::vector<std::string> cells, Places places);
  bool is_read() const { return !columns_.empty(); }

  const std::vector<TableColumn>& columns() const { return columns_; }
  /// The headings as they stand in the table.
  const std::vector<std::string>& headings() const { return headings_; }
  /// Adds cells of headings such as `variables/THREADS`, which are members of the JSON in the column `variables`. Returns the
  /// index of a cell that is no JSON.
  std::optional<std::size_t> add_members(std::vector<std::string>& cells, Places& places) const;
  /// Whether `where` leaves a line in.
  bool is_meant(const std::vector<std::string>& cells) const;
  /// The column with the unit of a metric.
  std::optional<std::size_t> unit_column(const std::string& metric) const;
  /// `a only here, b only in the first line`: another header in the middle of the table.
  std::string difference(const std::vector<std::string>& cells) const;

 private:
  void find_members(const std::vector<std::string>& wanted);
  void check_headings(long long line, const std::vector<std::string>& strange);
  void check_units(const Places& places);
  void check_twice(const Places& places);
  void find_named_columns(long long line);
  void note_ignored(const std::vector<std::string>& ignored);
  void note_misspelt_metric();
  void note_derived_figure(const std::string& metric);
  void note_unknown_figure(const std::string& fact);
  void problem(long long line, const std::string& text);
  void problem_at(const CsvReader::CellPlace& place, const std::string& text);
  void note(const std::string& text);

  const Study& study_;
  const Import& import_;
  const std::string& table_;
  ImportPlan& plan_;
  bool is_sound_ = true;
  std::vector<std::string> headings_;
  std::vector<std::string> cells_;  // headings, and those of members
  std::vector<TableColumn> columns_;
  std::vector<std::pair<std::size_t, std::string>> members_;                   // column and pointer into its JSON
  std::vector<std::pair<std::size_t, const std::vector<Value>*>> conditions_;  // of `where`
  std::vector<std::pair<std::string, std::size_t>> unit_columns_;
};

/// All headings that an entry names.
std::vector<std::string> wanted_headings(const Import& import);

}  // namespace hpcbench
