#pragma once

#include <string>
#include <utility>
#include <vector>

#include "recognise/tool_files.hpp"
#include "recognise/tool_results.hpp"

namespace hpcbench {

/// Rows of a file as text, as an import would see them.
struct ToolTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;

  bool has(const std::string& heading) const;
  /// The cells of a column; empty texts if there is none.
  std::vector<std::string> column(const std::string& heading) const;
  /// Keeps the rows with one of these values in a column.
  void keep_rows(const std::string& heading, const std::vector<std::string>& values);
  /// Adds the rows of another file.
  void add(const ToolTable& other);
};

/// A table with delimiters; empty if the file is none.
ToolTable read_csv_table(const ToolFiles& files, const std::string& file);
/// The values that `rows` names in a JSON document. Elements of lists that have a member `key` are named by it,
/// `foms/[name=time]/value`, in place of their number.
ToolTable read_json_table(const ToolFiles& files, const std::string& file, const std::string& rows,
                          const std::vector<std::string>& keys = {});
/// Returns the rows of a query; empty if it fails.
ToolTable read_query_table(const ToolFiles& files, const std::string& file, const std::string& query);

/// Whether every text that is not empty is a number; false if all are empty.
bool are_numbers(const std::vector<std::string>& values);

/// The import entry `table: FILE`; several files are a list.
FlowYaml table_entry(const ToolFiles& files, const std::vector<std::string>& tables);

/// The results of a table whose rows are runs, with one import entry of these files.
ToolResults results_of_table(const ToolFiles& files, const std::vector<std::string>& tables, const ToolTable& table);

/// The key `outcome` of an import: a column, and the outcomes of its words.
FlowYaml outcome_by(const std::string& column, const std::vector<std::pair<std::string, FlowYaml>>& words);

/// A column of a table under its heading.
ToolColumn table_column(const ToolTable& table, const std::string& heading, ToolColumn::Role role,
                        const std::string& unit = "");

}  // namespace hpcbench
