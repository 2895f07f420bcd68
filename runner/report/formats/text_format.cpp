#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"

namespace hpcbench {
namespace {

/// Returns the width in columns of a terminal: two for wide characters, none for combining ones, one for a byte that is no
/// UTF-8.
std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &character);
    width += length < 1 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(character));
    bytes += std::max<utf8proc_ssize_t>(length, 1);
    left -= std::max<utf8proc_ssize_t>(length, 1);
  }
  return width;
}

void append_line(std::string& out, const std::vector<std::string>& cells, const Grid& grid,
                 const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += grid.columns[i].is_number ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

void append_grid(std::string& out, const Grid& grid) {
  std::vector<std::vector<std::string>> lines = {grid.header()};
  for (const GridRow& row : grid.rows) lines.push_back(row.cells);
  std::vector<std::size_t> widths(grid.columns.size(), 0);
  for (std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = visible_text(line[i]);
      widths[i] = std::max(widths[i], display_width(line[i]));
    }
  }
  if (!grid.heading.empty()) out += visible_text(grid.heading) + "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    append_line(out, lines[i], grid, widths);
    if (i > 0) continue;
    std::vector<std::string> rule;
    for (const std::size_t width : widths) rule.emplace_back(width, '-');
    append_line(out, rule, grid, widths);
  }
  out += "\n";
}

/// Returns columns that a narrow table can omit, the least important one first.
std::vector<std::string_view> first_to_go() {
  std::map<int, std::string_view> names;
  for (const Column& column : all_columns()) {
    if (column.narrow > 0) names.emplace(column.narrow, column.name);
  }
  std::vector<std::string_view> order;
  for (const auto& [rank, name] : names) order.push_back(name);
  return order;
}

std::size_t width_of(const Grid& grid) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::size_t widest = display_width(visible_text(grid.columns[i].heading));
    for (const GridRow& row : grid.rows) widest = std::max(widest, display_width(visible_text(row.cells[i])));
    width += widest + (i == 0 ? 0 : 2);
  }
  return width;
}

/// Removes usual columns until the table fits the terminal; the line below it names them.
std::string fit(Grid& grid, int terminal_columns) {
  std::vector<std::string> left_out;
  for (const std::string_view name : first_to_go()) {
    if (width_of(grid) <= static_cast<std::size_t>(terminal_columns)) break;
    const auto found = std::find_if(grid.columns.begin(), grid.columns.end(),
                                    [&](const GridColumn& column) { return !column.of_axis && column.name == name; });
    if (found == grid.columns.end()) continue;
    left_out.push_back(found->heading);
    for (GridRow& row : grid.rows) row.cells.erase(row.cells.begin() + (found - grid.columns.begin()));
    grid.columns.erase(found);
  }
  if (left_out.empty()) return "";
  return fmt::format("Left out, as the terminal is {} wide: {}. --columns, -o FILE and other formats show them.\n",
                     counted(terminal_columns, "character", "characters"), join(left_out, ", "));
}

}  // namespace

std::string print_text(const Table& table, const PrintSettings& settings) {
  std::string out;
  for (const std::string& line : caption(table)) out += visible_text(line) + "\n";
  out += "\n";
  const bool may_leave_out = settings.terminal_columns > 0 && table.shown_columns.empty();
  for (Grid& grid : make_grids(table)) {
    const std::string left_out = may_leave_out ? fit(grid, settings.terminal_columns) : "";
    append_grid(out, grid);
    if (!left_out.empty()) out += left_out + "\n";
  }
  if (!table.warnings.empty()) out += "Warnings\n";
  for (const TableWarning& warning : table.warnings) {
    out += "  " + warning.code + ": " + visible_text(warning.seen) + "\n";
    out += "    Why it matters: " + visible_text(warning.why) + ".\n    What to do: " + visible_text(warning.advice) + ".\n";
  }
  if (!table.warnings.empty()) out += "\n";
  if (!table.notes.empty()) out += "Notes\n";
  for (const std::string& note : table.notes) out += "  " + visible_text(note) + "\n";
  if (!table.notes.empty()) out += "\n";
  for (const Section& section : sections(table, settings)) {
    out += section.title + "\n";
    for (const std::string& line : section.lines) out += "  " + visible_text(line) + "\n";
    out += "\n";
  }
  if (const std::string hint = tracing_hint(table); !hint.empty()) out += visible_text(hint) + "\n";
  return out;
}

}  // namespace hpcbench
