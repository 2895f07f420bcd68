#include "report/comparison/comparison_formats.hpp"

#include "report/comparison/comparison.hpp"

namespace hpcbench {

const std::vector<ComparisonFormat>& comparison_formats() {
  static const std::vector<ComparisonFormat> kFormats = {
      {"text", false, false, comparison_text},
      {"markdown", false, false, comparison_markdown},
      {"latex", false, false, comparison_latex},
      {"html", false, false, comparison_html},
      {"csv", false, true, comparison_csv},
      {"json", false, true, comparison_json},
      {"github", true, true, comparison_github, error_as_github},
      {"junit", true, true, comparison_junit, error_as_junit},
  };
  return kFormats;
}

}  // namespace hpcbench
