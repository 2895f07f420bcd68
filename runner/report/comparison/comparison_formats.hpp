#pragma once

#include <string>
#include <vector>

namespace hpcbench {

struct Comparison;

/// The table of all formats for people: the header, then a line for each row.
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);
/// The lines above the table, and those below it.
std::vector<std::string> comparison_head(const Comparison& comparison);
std::vector<std::string> comparison_remarks(const Comparison& comparison);

std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
/// A table with booktabs, and the remarks as a list.
std::string comparison_latex(const Comparison& comparison);
/// One page that needs nothing else.
std::string comparison_html(const Comparison& comparison);
/// RFC 4180: a line for each row, full precision, absent = empty.
std::string comparison_csv(const Comparison& comparison);
/// Full precision, absent = null.
std::string comparison_json(const Comparison& comparison);
/// Workflow commands of GitHub Actions: an error for each rule and row that does not pass, a notice for each rule that does.
std::string comparison_github(const Comparison& comparison);
/// JUnit's XML: a test case for each rule and row. `undecided` is an error, `not_compared` a skipped test.
std::string comparison_junit(const Comparison& comparison);
/// The same of a comparison that could not be made.
std::string error_as_github(const std::string& message);
std::string error_as_junit(const std::string& message);

}  // namespace hpcbench
