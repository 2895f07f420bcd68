#include "report/formats/formats.hpp"

#include "report/table.hpp"

namespace hpcbench {

const std::vector<ReportFormat>& report_formats() {
  static const std::vector<ReportFormat> kFormats = {
      {"text", ".txt", "an aligned table with its warnings, for people", print_text},
      {"markdown", ".md", "the same as a Markdown table", print_markdown},
      {"latex", ".tex", "the same as tables with booktabs", print_latex},
      {"html", ".html", "one page with sortable tables, plots and every run", print_html},
      {"csv", ".csv", "all columns, rounded as in the table", print_csv},
      {"json", ".json", "everything in full precision, for programs", print_json},
  };
  return kFormats;
}

}  // namespace hpcbench
