#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kRowsOfAPage = 40;  // more of them need a table that breaks across pages

std::string latex_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : " & ") + escape_latex(cells[i]);
  return line + " \\\\\n";
}

/// What stands above a table, and what a document refers to it by.
std::string latex_caption(const std::string& text, const std::string& label) {
  return "\\caption{" + escape_latex(text) + "}" + (label.empty() ? "" : "\\label{" + label + "}");
}

std::string latex_grid(const Grid& grid, const std::string& title, const std::string& label) {
  std::string alignment;
  for (const GridColumn& column : grid.columns) alignment += column.is_number ? 'r' : 'l';
  const bool is_long = grid.rows.size() > kRowsOfAPage;
  const std::string text = latex_caption(grid.heading.empty() ? title : title + " (" + grid.heading + ")", label);
  std::string out = is_long ? "\\begin{longtable}{" + alignment + "}\n" + text + "\\\\\n"
                            : "\\begin{table}[htbp]\n\\centering\n" + text + "\n\\begin{tabular}{" + alignment + "}\n";
  out += "\\toprule\n" + latex_line(grid.header()) + "\\midrule\n";
  if (is_long) out += "\\endhead\n\\bottomrule\n\\endfoot\n";
  for (const GridRow& row : grid.rows) out += latex_line(row.cells);
  return out + (is_long ? "\\end{longtable}\n\n" : "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n");
}

/// All tables; of several the labels are numbered, for a label stands for one.
std::string latex_grids(const Table& table, const std::string& usual_title) {
  std::string title = usual_title;
  if (!table.latex_caption.empty()) title = table.latex_caption + (table.simulated_nodes ? " (simulated nodes)" : "");
  const std::vector<Grid> grids = make_grids(table);
  std::string out;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const bool numbered = grids.size() > 1 && !table.latex_label.empty();
    out += latex_grid(grids[i], title, numbered ? table.latex_label + "-" + std::to_string(i + 1) : table.latex_label);
  }
  return out;
}

/// What a table that stands alone leaves out, for who reads the file: TeX skips it.
std::string warnings_comment(const Table& table) {
  std::set<std::string> codes;
  for (const TableWarning& warning : table.warnings) codes.insert(warning.code);
  if (codes.empty()) return "";
  return "% Warnings that are not printed here: " + join(std::vector<std::string>(codes.begin(), codes.end()), ", ") + ".\n";
}

void append_latex_list(std::string& out, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out += "\\paragraph{" + escape_latex(title) + "}\n\\begin{itemize}\n";
  for (const std::string& line : lines) out += "\\item " + line + "\n";
  out += "\\end{itemize}\n\n";
}

}  // namespace

bool is_latex_label(const std::string& text) {
  const auto is_harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view(":.-_/+").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_harmless);
}

std::string print_latex(const Table& table) {
  const std::vector<std::string> lines = caption(table);
  std::string out = "% Needs \\usepackage{booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}.\n";
  if (table.latex_table_only) return out + warnings_comment(table) + latex_grids(table, lines.front());
  out += latex_grids(table, lines.front());
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
