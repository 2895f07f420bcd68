#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ingest/csv_text.hpp"

namespace hpcbench {

/// Takes the rows of a table: the headings first, then the cells of each row.
struct RowTaker {
  std::function<void(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places)>
      row;
  std::function<void(long long line, const std::string& text)> problem;
};

/// Rows of JSON: the values that `rows` names in a document, or each line of JSON lines. Cells are named by pointers without
/// their first `/`: `config/batch_size`. A row that is no object has one cell, named as its list. Members of the objects
/// around a row are among its cells. `wanted`: headings that may be pointers with `*` and `[name=solve]`.
void read_json_rows(const std::string& path, const std::string& rows, const std::vector<std::string>& wanted,
                    const RowTaker& taker);

/// Rows of an SQLite database, opened read-only. Refuses one whose changes are still in a journal.
void read_query_rows(const std::string& path, const std::string& query, const RowTaker& taker);

bool is_json_table(const std::string& path);
bool is_sqlite_table(const std::string& path);

}  // namespace hpcbench
