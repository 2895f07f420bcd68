#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kRowsOfAPage = 40;  // more of them need a table that breaks across pages

std::string latex_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : " & ") + escape_latex(cells[i]);
  return line + " \\\\\n";
}

std::string latex_grid(const Grid& grid, const std::string& title) {
  std::string alignment;
  for (const GridColumn& column : grid.columns) alignment += column.is_number ? 'r' : 'l';
  const bool is_long = grid.rows.size() > kRowsOfAPage;
  const std::string text = escape_latex(grid.heading.empty() ? title : title + " (" + grid.heading + ")");
  std::string out = is_long
                        ? "\\begin{longtable}{" + alignment + "}\n\\caption{" + text + "}\\\\\n"
                        : "\\begin{table}[htbp]\n\\centering\n\\caption{" + text + "}\n\\begin{tabular}{" + alignment + "}\n";
  out += "\\toprule\n" + latex_line(grid.header()) + "\\midrule\n";
  if (is_long) out += "\\endhead\n\\bottomrule\n\\endfoot\n";
  for (const GridRow& row : grid.rows) out += latex_line(row.cells);
  return out + (is_long ? "\\end{longtable}\n\n" : "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n");
}

void append_latex_list(std::string& out, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out += "\\paragraph{" + escape_latex(title) + "}\n\\begin{itemize}\n";
  for (const std::string& line : lines) out += "\\item " + line + "\n";
  out += "\\end{itemize}\n\n";
}

}  // namespace

std::string print_latex(const Table& table) {
  const std::vector<std::string> lines = caption(table);
  std::string out = "% Needs \\usepackage{booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}.\n";
  for (const Grid& grid : make_grids(table)) out += latex_grid(grid, lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) out += escape_latex(lines[i]) + "\n";
  out += "\n";
  std::vector<std::string> warnings;
  for (const TableWarning& warning : table.warnings) {
    warnings.push_back("\\textbf{" + escape_latex(warning.code) + "}: " + escape_latex(warning.seen) + ". Why it matters: " +
                       escape_latex(warning.why) + ". What to do: " + escape_latex(warning.advice) + ".");
  }
  append_latex_list(out, "Warnings", warnings);
  const auto escaped = [](const std::vector<std::string>& texts) {
    std::vector<std::string> result;
    for (const std::string& text : texts) result.push_back(escape_latex(text));
    return result;
  };
  append_latex_list(out, "Notes", escaped(table.notes));
  for (const Section& section : sections(table)) append_latex_list(out, section.title, escaped(section.lines));
  return out;
}

}  // namespace hpcbench
