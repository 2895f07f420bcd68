#include "report/latex/latex_table.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "base/error.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kRowsOfAPage = 40;  // more rows need a table that breaks across pages

std::string latex_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : " & ") + escape_latex(cells[i]);
  return line + " \\\\\n";
}

/// Returns the line above a table, and the label by which a document refers to it.
std::string latex_caption(const std::string& text, const std::string& label) {
  return "\\caption{" + escape_latex(text) + "}" + (label.empty() ? "" : "\\label{" + label + "}");
}

/// The text around the tabular of a table of one page. `text` spans both columns of a page, `column` fills one.
struct Frame {
  std::string environment = "table";
  std::string before, after;
};

Frame frame_of(const LatexStyle& style) {
  if (style.width.empty()) return {};
  return {style.width == "text" ? "table*" : "table",
          "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n", "}\n"};
}

}  // namespace

std::string latex_packages(const LatexStyle& style) {
  return fmt::format("% Needs \\usepackage{{booktabs,{}longtable,textcomp}} and \\usepackage[T1]{{fontenc}}.\n",
                     style.width.empty() ? "" : "graphicx,");
}

std::string latex_table(const std::string& alignment, const std::string& caption, const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows, const LatexStyle& style) {
  const std::string above = latex_caption(caption, style.label);
  const std::string font = style.font.empty() ? "" : "\\" + style.font + "\n";
  const std::string head = "\\toprule\n" + latex_line(header) + "\\midrule\n";
  std::string lines;
  for (const std::vector<std::string>& row : rows) lines += latex_line(row);
  if (rows.size() > kRowsOfAPage) {
    if (!style.width.empty()) {
      throw InputError(
          fmt::format("error: --width {}: a table of {} rows breaks across pages, and such a table keeps its own "
                      "width; show at most {} rows (--only, --group-by), or leave --width out",
                      style.width, rows.size(), kRowsOfAPage));
    }
    return (font.empty() ? "" : "{" + font) + "\\begin{longtable}{" + alignment + "}\n" + above + "\\\\\n" + head +
           "\\endhead\n\\bottomrule\n\\endfoot\n" + lines + "\\end{longtable}\n" + (font.empty() ? "\n" : "}\n\n");
  }
  const Frame frame = frame_of(style);
  return "\\begin{" + frame.environment + "}[htbp]\n\\centering\n" + font + above + "\n" + frame.before + "\\begin{tabular}{" +
         alignment + "}\n" + head + lines + "\\bottomrule\n\\end{tabular}\n" + frame.after + "\\end{" + frame.environment +
         "}\n\n";
}

}  // namespace hpcbench
