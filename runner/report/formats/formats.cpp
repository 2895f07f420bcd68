#include "report/formats/formats.hpp"

#include "report/table.hpp"

namespace hpcbench {

const std::vector<ReportFormat>& report_formats() {
  static const std::vector<ReportFormat> kFormats = {
      {"text", "an aligned table with its warnings, for people", print_text},
      {"markdown", "the same as a Markdown table", print_markdown},
      {"latex", "the same as tables with booktabs", print_latex},
      {"html", "one page with sortable tables, plots and every run", print_html},
      {"csv", "all columns, rounded as in the table", print_csv},
      {"json", "everything in full precision, for programs", print_json},
  };
  return kFormats;
}

}  // namespace hpcbench
