#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/comparison/comparison.hpp"
#include "report/comparison/comparison_formats.hpp"
#include "report/digits.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

std::string compared_median(const std::optional<double>& median, int exponent) {
  return median ? round_at(*median, exponent) : "-";
}

std::string verdict_cell(const Comparison& comparison, const ComparedRow& row) {
  std::string text = to_string(row.verdict);
  const bool differs = row.verdict != ComparisonVerdict::equivalent && row.verdict != ComparisonVerdict::not_resolved;
  if (differs && row.equivalent) text += fmt::format(" (within {:g} %)", 100 * comparison.margin);
  if (!row.remark.empty()) text += "; " + row.remark;
  return row.fails ? text + " (fails)" : text;
}

std::string p_cell(const std::optional<double>& p) { return p ? fmt::format("{:.2g}", *p) : "-"; }

std::string escape_comparison(const std::string& text) { return escape_markdown(visible_text(text)); }

/// Returns the rows that do not pass a rule; all rows if the rule compared nothing.
std::vector<std::string> lines_of_rule(const RuleResult& result) {
  constexpr std::size_t kMostLines = 20;
  std::vector<std::string> lines;
  const bool none_passes = std::none_of(result.rows.begin(), result.rows.end(),
                                        [](const RowFinding& row) { return row.state != GateState::not_compared; });
  std::size_t others = 0;
  for (const RowFinding& row : result.rows) {
    const bool shows = row.state == GateState::fails || row.state == GateState::undecided || none_passes;
    if (shows && lines.size() == kMostLines) ++others;
    if (shows && lines.size() < kMostLines)
      lines.push_back(fmt::format("  {}{}", row.row.empty() ? "" : row.row + ": ", row.reason));
  }
  if (others > 0) lines.push_back(fmt::format("  and {} more rows", others));
  return lines;
}

/// Adds sides of rows whose measurements give no value.
void add_left_out(std::vector<std::string>& lines, const Comparison& comparison) {
  constexpr std::size_t kMostLines = 20;
  if (comparison.left_out.empty()) return;
  lines.emplace_back("left out of the values:");
  const std::size_t shown = std::min(kMostLines, comparison.left_out.size());
  for (std::size_t i = 0; i < shown; ++i) lines.push_back("  " + comparison.left_out[i]);
  if (comparison.left_out.size() > shown) lines.push_back(fmt::format("  and {} more", comparison.left_out.size() - shown));
}

}  // namespace

std::string compared_ratio_text(const ComparedRow& row) {
  if (!row.ratio) return "-";
  const auto& interval = row.ratio->interval;
  const int exponent = interval ? std::clamp(exponent_for_interval(row.ratio->value, interval->low, interval->high), -4, 0)
                                : exponent_without_interval(row.ratio->value);
  if (!interval) return round_at(row.ratio->value, exponent);
  return fmt::format("{} [{}, {}]", round_at(row.ratio->value, exponent), round_at(interval->low, exponent),
                     round_at(interval->high, exponent));
}

std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> header = comparison.columns;
  const std::string unit = comparison.unit.empty() ? "" : " [" + comparison.unit + "]";
  for (const char* name : {"n A", "n B"}) header.emplace_back(name);
  header.push_back("A" + unit);
  header.push_back("B" + unit);
  for (const char* name : {"B / A", "coverage", "p (Holm)", "B is"}) header.emplace_back(name);
  lines.push_back(header);
  for (const ComparedRow& row : comparison.rows) {
    std::vector<std::string> line;
    for (const std::string& column : comparison.columns) {
      const Value* value = find_binding(row.axes, column);
      line.push_back(value == nullptr ? "-" : visible_text(value->text()));
    }
    line.push_back(std::to_string(row.a_n));
    line.push_back(std::to_string(row.b_n));
    line.push_back(compared_median(row.a_median, row.a_exponent));
    line.push_back(compared_median(row.b_median, row.b_exponent));
    line.push_back(compared_ratio_text(row));
    const bool has_interval = row.ratio && row.ratio->interval;
    line.push_back(has_interval ? fmt::format("{:.4g} %", 100 * row.ratio->interval->coverage) : "-");
    line.push_back(p_cell(row.adjusted_p));
    line.push_back(verdict_cell(comparison, row));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> comparison_head(const Comparison& comparison) {
  std::vector<std::string> head = {
      fmt::format("A: {}", comparison.a), fmt::format("B: {}", comparison.b),
      fmt::format(
          "Metric: {}. B / A is estimated from all pairs of runs (Hodges-Lehmann of log ratios) with the exact interval "
          "of its row alone, at least {:g} % where there are enough runs.",
          comparison.metric, 100 * comparison.confidence),
      fmt::format("Verdicts hold for all rows together (Holm, exact rank-sum tests, {:g} % in all); equivalent: surely within "
                  "{:g} % (two one-sided tests).",
                  100 * (1 - comparison.confidence), 100 * comparison.margin)};
  if (comparison.looks > 1) {
    head.push_back(
        fmt::format("Studies that end at one of several looks: intervals and p-values hold over {} pairs of looks "
                    "(Bonferroni).",
                    comparison.looks));
  }
  return head;
}

std::vector<std::string> gate_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (comparison.rules.empty()) return lines;
  for (const RuleResult& result : comparison.rules) {
    const bool is_implied = result.rule.kind == FailRule::Kind::no_value;
    if (is_implied && result.state != GateState::fails) continue;
    const std::string name = is_implied ? result.rule.text : fmt::format("--fail-if `{}`", result.rule.text);
    std::map<GateState, std::size_t> counts;
    for (const RowFinding& row : result.rows) ++counts[row.state];
    std::vector<std::string> parts;
    for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, to_string(state)));
    lines.push_back(fmt::format("{}: {} (rows: {}){}", name, to_string(result.state), join(parts, ", "),
                                is_implied ? "; --allow-missing accepts this" : ""));
    for (std::string& line : lines_of_rule(result)) lines.push_back(std::move(line));
  }
  add_left_out(lines, comparison);
  const GateState state = gate_state(comparison);
  lines.emplace_back(state == GateState::passes  ? "The gate passes."
                     : state == GateState::fails ? "The gate fails."
                     : comparison.errors.empty() ? "The gate cannot be decided."
                                                 : "The gate cannot be decided: an import is broken.");
  return lines;
}

std::vector<std::string> comparison_remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  const auto list = [&](const std::vector<std::string>& names, const std::string& side) {
    if (!names.empty()) lines.push_back(fmt::format("only in {}: {}", side, join(names, "; ")));
  };
  list(comparison.only_a, "A");
  list(comparison.only_b, "B");
  for (const SideDifference& difference : comparison.differences)
    lines.push_back(fmt::format("not the same: {}: {} in A, {} in B", difference.name, difference.a, difference.b));
  for (const std::string& note : comparison.notes) lines.push_back(note);
  for (const std::string& error : comparison.errors) {
    for (std::string& line : split(error, '\n')) lines.push_back(std::move(line));
  }
  if (comparison.rules.empty()) add_left_out(lines, comparison);
  for (std::string& line : gate_lines(comparison)) lines.push_back(std::move(line));
  return lines;
}

std::string comparison_text(const Comparison& comparison) {
  std::string out;
  for (const std::string& line : comparison_head(comparison)) out += visible_text(line) + "\n";
  out += "\n";
  const auto lines = comparison_cells(comparison);
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], character_count(line[i]));
  }
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::string text;
    std::string rule;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += lines[l][i] + std::string(widths[i] - character_count(lines[l][i]) + 2, ' ');
      rule += std::string(widths[i], '-') + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    rule.erase(rule.find_last_not_of(' ') + 1);
    out += text + "\n" + (l == 0 ? rule + "\n" : "");
  }
  const auto remarks = comparison_remarks(comparison);
  if (!remarks.empty()) out += "\n";
  for (const std::string& line : remarks) out += visible_text(line) + "\n";
  return out;
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string out;
  for (const std::string& line : comparison_head(comparison)) out += escape_comparison(line) + "\n\n";
  const auto lines = comparison_cells(comparison);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    out += "|";
    for (const std::string& cell : lines[l]) out += " " + escape_comparison(cell) + " |";
    out += "\n";
    if (l > 0) continue;
    out += "|";
    for (std::size_t i = 0; i < lines[l].size(); ++i) out += "---|";
    out += "\n";
  }
  out += "\n";
  // Rows of a rule and advice are bullets below its line.
  for (const std::string& line : comparison_remarks(comparison))
    out += (line.starts_with(' ') ? "  - " : "- ") + escape_comparison(std::string(trim(line))) + "\n";
  return out;
}

}  // namespace hpcbench
