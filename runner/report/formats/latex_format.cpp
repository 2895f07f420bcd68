#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"
#include "report/latex/latex_table.hpp"

namespace hpcbench {
namespace {

/// Returns the caption, which also states the coverage of the brackets.
std::string caption_text(const Table& table, const Grid& grid, const std::string& title) {
  double coverage = 1;
  const auto lower_to = [&](const std::optional<Interval>& interval) {
    if (interval) coverage = std::min(coverage, interval->coverage);
  };
  for (const GridRow& row : grid.rows) {
    if (row.row->summary) lower_to(row.row->summary->interval);
    if (row.row->speedup && table.has_speedup) lower_to(row.row->speedup->interval);
  }
  const std::string text = grid.heading.empty() ? title : title + " (" + grid.heading + ")";
  const bool has_brackets = std::any_of(grid.columns.begin(), grid.columns.end(), [](const GridColumn& column) {
    return !column.of_axis && column.name.ends_with("_with_interval");
  });
  if (coverage == 1 || !has_brackets) return text;
  return text + fmt::format("; brackets: intervals of at least {:.1f} % coverage", std::floor(1000 * coverage) / 10);
}

std::string latex_grid(const Table& table, const Grid& grid, const std::string& title, const LatexStyle& style) {
  std::string alignment;
  for (const GridColumn& column : grid.columns) alignment += column.is_number ? 'r' : 'l';
  std::vector<std::vector<std::string>> rows;
  for (const GridRow& row : grid.rows) rows.push_back(row.cells);
  return latex_table(alignment, caption_text(table, grid, title), grid.header(), rows, style);
}

/// Returns all tables; the labels of several are numbered, because a label must be unique.
std::string latex_grids(const Table& table, const std::string& usual_title, LatexStyle style) {
  std::string title = usual_title;
  if (!style.caption.empty()) title = style.caption + (table.simulated_nodes ? " (simulated nodes)" : "");
  const std::vector<Grid> grids = make_grids(table, paper_columns(table));
  const std::string label = style.label;
  std::string out;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (grids.size() > 1 && !label.empty()) style.label = label + "-" + std::to_string(i + 1);
    out += latex_grid(table, grids[i], title, style);
  }
  return out;
}

/// Returns the text that a table alone omits, as a comment for readers of the file: TeX skips it.
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

const std::vector<std::string>& latex_fonts() {
  static const std::vector<std::string> kFonts = {"tiny", "scriptsize", "footnotesize", "small", "normalsize"};
  return kFonts;
}

bool is_latex_label(const std::string& text) {
  const auto is_harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view(":.-_/+").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_harmless);
}

std::string print_latex(const Table& table, const PrintSettings& settings) {
  const std::vector<std::string> lines = caption(table);
  std::string out = latex_packages(settings.latex);
  if (settings.latex.table_only) return out + warnings_comment(table) + latex_grids(table, lines.front(), settings.latex);
  out += latex_grids(table, lines.front(), settings.latex);
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
  for (const Section& section : sections(table, settings)) append_latex_list(out, section.title, escaped(section.lines));
  return out;
}

}  // namespace hpcbench
