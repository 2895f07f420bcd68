#include <fmt/format.h>

#include "base/text.hpp"
#include "report/comparison/comparison.hpp"
#include "report/comparison/comparison_formats.hpp"
#include "report/escapes.hpp"
#include "report/latex/latex_table.hpp"

namespace hpcbench {
namespace {

constexpr const char* kComparisonStyle =
    ":root{--text:#1b1f24;--line:#d0d7de;--paper:#fff;--shade:#f3f5f7}"
    "@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--line:#3a434d;--paper:#11151a;--shade:#1b2128}}"
    "body{margin:0 auto;max-width:80rem;padding:1rem;color:var(--text);background:var(--paper);font:15px/1.5 "
    "system-ui,sans-serif;overflow-wrap:anywhere}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}"
    "thead th{background:var(--shade)}tr.fails td{font-weight:600}li{white-space:pre-wrap}";

std::string html_comparison_row(const std::vector<std::string>& cells, const char* tag, bool fails) {
  std::string out = fails ? "<tr class=\"fails\">" : "<tr>";
  for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return out + "</tr>\n";
}

std::string title_of(const Comparison& comparison) {
  return fmt::format("{} of {} against {}", comparison.metric, comparison.b, comparison.a);
}

}  // namespace

std::string comparison_html(const Comparison& comparison) {
  const std::string title = escape_html(title_of(comparison));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, kComparisonStyle);
  for (const std::string& line : comparison_head(comparison)) out += "<p>" + escape_html(line) + "</p>\n";
  const auto lines = comparison_cells(comparison);
  out += "<div class=\"scroll\"><table>\n<thead>" + html_comparison_row(lines.front(), "th", false) + "</thead>\n<tbody>\n";
  for (std::size_t i = 1; i < lines.size(); ++i) out += html_comparison_row(lines[i], "td", comparison.rows[i - 1].fails);
  out += "</tbody>\n</table></div>\n";
  const auto remarks = comparison_remarks(comparison);
  if (!remarks.empty()) out += "<ul>\n";
  for (const std::string& line : remarks) out += "<li>" + escape_html(line) + "</li>\n";
  if (!remarks.empty()) out += "</ul>\n";
  return out + "</body>\n</html>\n";
}

std::string comparison_latex(const Comparison& comparison) {
  const auto lines = comparison_cells(comparison);
  const std::string alignment(lines.front().size(), 'l');
  std::string out =
      latex_packages({}) + latex_table(alignment, title_of(comparison), lines.front(), {lines.begin() + 1, lines.end()}, {});
  for (const std::string& line : comparison_head(comparison)) out += escape_latex(line) + "\n\n";
  const auto remarks = comparison_remarks(comparison);
  if (!remarks.empty()) out += "\\begin{itemize}\n";
  for (const std::string& line : remarks) out += "\\item " + escape_latex(std::string(trim(line))) + "\n";
  if (!remarks.empty()) out += "\\end{itemize}\n";
  return out;
}

}  // namespace hpcbench
