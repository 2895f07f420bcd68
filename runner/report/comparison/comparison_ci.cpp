#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "report/comparison/comparison.hpp"
#include "report/comparison/comparison_formats.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

/// Returns the notes that warn about the values of a side: `warning mixed-program of B: ...`.
std::vector<std::string> warnings_in(const Comparison& comparison) {
  std::vector<std::string> found;
  std::copy_if(comparison.notes.begin(), comparison.notes.end(), std::back_inserter(found),
               [](const std::string& note) { return note.starts_with("warning "); });
  return found;
}

std::string message_of(const RowFinding& row) { return row.row.empty() ? row.reason : row.row + ": " + row.reason; }

/// Escapes control characters as for HTML, and U+FFFE and U+FFFF, which XML 1.0 cannot represent.
std::string escape_xml(const std::string& text) {
  std::string out = escape_html(text);
  for (const char* const forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = 0; (at = out.find(forbidden, at)) != std::string::npos;) out.replace(at, 3, "\xef\xbf\xbd");
  }
  return out;
}

/// Returns the element of a test case that did not pass.
const char* junit_element(GateState state) {
  switch (state) {
    case GateState::fails:
      return "failure";
    case GateState::undecided:
      return "error";
    case GateState::not_compared:
      return "skipped";
    default:
      return nullptr;
  }
}

std::string junit_case(const RuleResult& result, const RowFinding& row) {
  const std::string name = row.row.empty() ? "all runs" : row.row;
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escape_xml(result.rule.text), escape_xml(name));
  const char* const element = junit_element(row.state);
  if (element == nullptr) return head + "/>\n";
  return fmt::format("{}><{} message=\"{}\"/></testcase>\n", head, element, escape_xml(row.reason));
}

constexpr const char* kJunitHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";

std::string junit_error(const std::string& message) {
  return fmt::format(
      "  <testsuite name=\"hpcbench compare\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
      "    <testcase classname=\"hpcbench compare\" name=\"input\"><error message=\"{}\"/></testcase>\n  </testsuite>\n",
      escape_xml(message));
}

std::size_t count_of(const RuleResult& result, GateState state) {
  std::size_t count = 0;
  for (const RowFinding& row : result.rows) count += row.state == state ? 1 : 0;
  return count;
}

}  // namespace

std::string comparison_github(const Comparison& comparison) {
  std::string out;
  for (const std::string& error : comparison.errors) out += error_as_github(error);
  for (const std::string& row : comparison.left_out)
    out += fmt::format("::warning title=hpcbench%3A left out of the values::{}\n", escape_workflow(row, false));
  for (const std::string& warning : warnings_in(comparison))
    out += fmt::format("::warning title=hpcbench%3A compare::{}\n", escape_workflow(warning, false));
  for (const RuleResult& result : comparison.rules) {
    const std::string title = escape_workflow("hpcbench: " + result.rule.text, true);
    if (result.state == GateState::passes) {
      const std::string text = fmt::format("passes ({} rows, B: {}, A: {})", result.rows.size(), comparison.b, comparison.a);
      out += fmt::format("::notice title={}::{}\n", title, escape_workflow(text, false));
      continue;
    }
    const bool compared_none = count_of(result, GateState::not_compared) == result.rows.size();
    for (const RowFinding& row : result.rows) {
      if (row.state == GateState::fails || row.state == GateState::undecided || compared_none)
        out += fmt::format("::error title={}::{}\n", title, escape_workflow(message_of(row), false));
    }
  }
  return out;
}

std::string error_as_github(const std::string& message) {
  return fmt::format("::error title=hpcbench%3A compare::{}\n", escape_workflow(message, false));
}

std::string error_as_junit(const std::string& message) {
  return std::string(kJunitHead) + junit_error(message) + "</testsuites>\n";
}

std::string comparison_junit(const Comparison& comparison) {
  std::string out = kJunitHead;
  for (const std::string& error : comparison.errors) out += junit_error(error);
  for (const RuleResult& result : comparison.rules) {
    // A rule that compared nothing must not appear only as skipped tests.
    const bool compared_none = count_of(result, GateState::not_compared) == result.rows.size();
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
                       escape_xml(result.rule.text), result.rows.size(), count_of(result, GateState::fails),
                       compared_none ? result.rows.size() : count_of(result, GateState::undecided),
                       compared_none ? 0 : count_of(result, GateState::not_compared));
    for (RowFinding row : result.rows) {
      if (compared_none) row.state = GateState::undecided;
      out += junit_case(result, row);
    }
    std::vector<std::string> said = warnings_in(comparison);
    if (!comparison.left_out.empty()) said.push_back("left out of the values: " + join(comparison.left_out, "; "));
    for (std::string& line : said) line = escape_xml(line);
    if (!said.empty()) out += "    <system-out>" + join(said, "\n") + "</system-out>\n";
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace hpcbench
