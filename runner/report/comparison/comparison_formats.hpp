#pragma once

#include <string>
#include <vector>

namespace hpcbench {

struct Comparison;

/// Returns the table for all formats that people read: the header, then a line for each row.
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);
/// Returns the lines above the table, and those below it.
std::vector<std::string> comparison_head(const Comparison& comparison);
std::vector<std::string> comparison_remarks(const Comparison& comparison);

std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
/// Returns a table with booktabs, and the remarks as a list.
std::string comparison_latex(const Comparison& comparison);
/// Returns one self-contained page.
std::string comparison_html(const Comparison& comparison);
/// Returns RFC 4180: a line for each row, full precision, an empty cell for an absent value.
std::string comparison_csv(const Comparison& comparison);
/// Returns JSON with full precision and null for absent values.
std::string comparison_json(const Comparison& comparison);
/// Returns workflow commands of GitHub Actions: an error for each rule and row that does not pass, a notice for each that does.
std::string comparison_github(const Comparison& comparison);
/// Returns JUnit's XML: a test case for each rule and row. `undecided` is an error, `not_compared` a skipped test.
std::string comparison_junit(const Comparison& comparison);
/// Returns the error of a comparison that failed, in the same two formats.
std::string error_as_github(const std::string& message);
std::string error_as_junit(const std::string& message);

}  // namespace hpcbench
