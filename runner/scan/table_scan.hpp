#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/csv_text.hpp"
#include "scan/candidate.hpp"

namespace hpcbench {

/// Finds numbers in the columns of CSV.
class TableScan {
 public:
  TableScan();
  void feed(std::string_view piece) { csv_.feed(piece); }
  std::vector<Candidate> finish();
  long long lines() const { return lines_; }
  /// Whether the rows have as many cells as the header, for text that only may be a table.
  bool is_table() const { return rows_ > 0 && 10 * misfits_ <= rows_; }
  /// Whether a first line could be a header: at least three words or short texts between delimiters.
  static bool may_be_header(std::string_view line);

 private:
  struct Column {
    std::size_t place = 0;  // among the columns, as first seen
    Occurrences seen;
    long long words = 0;
    bool is_duration = false;
    std::map<std::string, long long> units;
  };
  void take_row(std::vector<std::string>& cells);

  CsvReader csv_;
  std::vector<std::string> header_;
  std::map<std::string, Column> columns_;
  long long lines_ = 0, rows_ = 0, misfits_ = 0;
};

}  // namespace hpcbench
