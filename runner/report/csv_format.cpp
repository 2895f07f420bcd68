#include <array>

#include "report/columns.hpp"
#include "report/formats.hpp"

namespace hpcbench {
namespace {

constexpr std::array<std::string_view, 15> kCsvColumns = {
    "gpus",       "n",          "median",          "low",          "high",
    "coverage",   "speedup",    "speedup_low",     "speedup_high", "ratio_of_medians",
    "efficiency", "train_loss", "validation_loss", "outcomes",     "warnings"};

/// RFC 4180: quoted where a separator, a quote or a line end is in it.
void append_csv_cell(std::string& out, std::string_view cell) {
  if (!out.empty() && out.back() != '\n') out += ',';
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) append_csv_cell(line, cell);
  return line + "\n";
}

}  // namespace

std::string print_csv(const Table& table) {
  constexpr CellStyle kStyle{";"};
  std::vector<std::string> header = table.axes;
  header.insert(header.end(), kCsvColumns.begin(), kCsvColumns.end());
  std::vector<const Column*> columns;
  for (const std::string_view name : kCsvColumns) columns.push_back(find_column(name));
  std::string out = csv_line(header);
  for (const Row& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& axis : table.axes) {
      const Value* value = find_binding(row.axes, axis);
      cells.push_back(value == nullptr ? "-" : value->text());
    }
    for (const Column* column : columns) cells.push_back(column->cell(table, row, kStyle));
    out += csv_line(cells);
  }
  return out;
}

}  // namespace hpcbench
