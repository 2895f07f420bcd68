#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"

namespace hpcbench {
namespace {

void append_table_line(std::string& out, const std::vector<std::string>& cells) {
  out += "|";
  for (const std::string& cell : cells) out += " " + escape_markdown(cell) + " |";
  out += "\n";
}

void append_markdown_grid(std::string& out, const Grid& grid) {
  if (!grid.heading.empty()) out += "#### " + escape_markdown(grid.heading) + "\n\n";
  append_table_line(out, grid.header());
  out += "|";
  for (const GridColumn& column : grid.columns) out += column.is_number ? " ---: |" : " :--- |";
  out += "\n";
  for (const GridRow& row : grid.rows) append_table_line(out, row.cells);
  out += "\n";
}

}  // namespace

std::string print_markdown(const Table& table, const PrintSettings& settings) {
  std::string out;
  const std::vector<std::string> lines = caption(table);
  out += "### " + escape_markdown(lines.front()) + "\n\n";
  for (const Grid& grid : make_grids(table)) append_markdown_grid(out, grid);
  for (std::size_t i = 1; i < lines.size(); ++i) out += (i == 1 ? "" : " ") + escape_markdown(lines[i]);
  out += "\n\n";
  if (!table.warnings.empty()) out += "**Warnings**\n\n";
  for (const TableWarning& warning : table.warnings) {
    out += "- **" + warning.code + "**: " + escape_markdown(warning.seen) + ". Why it matters: " + warning.why +
           ". What to do: " + warning.advice + ".\n";
  }
  if (!table.warnings.empty()) out += "\n";
  if (!table.notes.empty()) out += "**Notes**\n\n";
  for (const std::string& note : table.notes) out += "- " + escape_markdown(note) + "\n";
  if (!table.notes.empty()) out += "\n";
  for (const Section& section : sections(table, settings)) {
    out += "**" + section.title + "**\n\n";
    for (const std::string& line : section.lines) out += "- " + escape_markdown(line) + "\n";
    out += "\n";
  }
  if (const std::string hint = tracing_hint(table); !hint.empty()) out += escape_markdown(hint) + "\n";
  return out;
}

}  // namespace hpcbench
