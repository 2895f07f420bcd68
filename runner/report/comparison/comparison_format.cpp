#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "plan/json_text.hpp"
#include "report/comparison/comparison.hpp"
#include "report/digits.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

std::string compared_median(const std::optional<double>& median, int exponent) {
  return median ? round_at(*median, exponent) : "-";
}

std::string compared_ratio_cell(const ComparedRow& row) {
  if (!row.ratio) return "-";
  const auto& interval = row.ratio->interval;
  const int exponent = interval ? std::clamp(exponent_for_interval(row.ratio->value, interval->low, interval->high), -4, 0)
                                : exponent_without_interval(row.ratio->value);
  if (!interval) return round_at(row.ratio->value, exponent);
  return fmt::format("{} [{}, {}]", round_at(row.ratio->value, exponent), round_at(interval->low, exponent),
                     round_at(interval->high, exponent));
}

std::string verdict_cell(const Comparison& comparison, const ComparedRow& row) {
  std::string text = to_string(row.verdict);
  const bool differs = row.verdict != ComparisonVerdict::equivalent && row.verdict != ComparisonVerdict::not_resolved;
  if (differs && row.equivalent) text += fmt::format(" (within {:g} %)", 100 * comparison.margin);
  if (!row.remark.empty()) text += "; " + row.remark;
  return row.fails ? text + " (fails)" : text;
}

std::string p_cell(const std::optional<double>& p) { return p ? fmt::format("{:.2g}", *p) : "-"; }

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
    line.push_back(compared_ratio_cell(row));
    const bool has_interval = row.ratio && row.ratio->interval;
    line.push_back(has_interval ? fmt::format("{:.4g} %", 100 * row.ratio->interval->coverage) : "-");
    line.push_back(p_cell(row.adjusted_p));
    line.push_back(verdict_cell(comparison, row));
    lines.push_back(std::move(line));
  }
  return lines;
}

/// What stands below the table, one paragraph a line.
std::vector<std::string> remarks_of(const Comparison& comparison) {
  std::vector<std::string> lines;
  const auto list = [&](const std::vector<std::string>& names, const std::string& side) {
    if (!names.empty()) lines.push_back(fmt::format("only in {}: {}", side, join(names, "; ")));
  };
  list(comparison.only_a, "A");
  list(comparison.only_b, "B");
  for (const SideDifference& difference : comparison.differences)
    lines.push_back(fmt::format("not the same: {}: {} in A, {} in B", difference.name, difference.a, difference.b));
  for (const std::string& note : comparison.notes) lines.push_back(note);
  if (comparison.fail_if) {
    lines.push_back(fmt::format("--fail-if `{}`: {}", comparison.fail_if->text, comparison.fails ? "true" : "not shown"));
  }
  return lines;
}

std::vector<std::string> head_of(const Comparison& comparison) {
  std::vector<std::string> head = {
      fmt::format("A: {}", comparison.a), fmt::format("B: {}", comparison.b),
      fmt::format(
          "Metric: {}. B / A is estimated from all pairs of runs (Hodges-Lehmann of log ratios) with the exact interval "
          "of its row alone, at least {:g} % where enough runs are there.",
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

std::string escape_comparison(const std::string& text) { return escape_markdown(visible_text(text)); }

std::string compared_row_json(const ComparedRow& row) {
  std::vector<std::string> axes;
  for (const auto& [name, value] : row.axes) axes.push_back(json_quote(name) + ":" + value.canonical());
  const Interval* const interval = row.ratio && row.ratio->interval ? &*row.ratio->interval : nullptr;
  const auto end = [&](double Interval::*field) {
    return interval != nullptr ? json_number(interval->*field) : json_number({});
  };
  return fmt::format(R"({{"axes":{{{}}},"a":{{"config_id":{},"n":{},"median":{}}},"b":{{"config_id":{},"n":{},"median":{}}},)",
                     join(axes, ","), json_quote(row.a_id), row.a_n, json_number(row.a_median), json_quote(row.b_id), row.b_n,
                     json_number(row.b_median)) +
         fmt::format(R"("ratio":{},"low":{},"high":{},"coverage":{},"p_value":{},"adjusted_p_value":{},)",
                     json_number(row.ratio ? std::optional(row.ratio->value) : std::nullopt), end(&Interval::low),
                     end(&Interval::high), end(&Interval::coverage), json_number(row.p_value), json_number(row.adjusted_p)) +
         fmt::format(R"("equivalent":{},"verdict":{},"remark":{},"fails":{}}})", row.equivalent,
                     json_quote(to_string(row.verdict)), row.remark.empty() ? "null" : json_quote(row.remark), row.fails);
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string out;
  for (const std::string& line : head_of(comparison)) out += visible_text(line) + "\n";
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
  const auto remarks = remarks_of(comparison);
  if (!remarks.empty()) out += "\n";
  for (const std::string& line : remarks) out += visible_text(line) + "\n";
  return out;
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string out;
  for (const std::string& line : head_of(comparison)) out += escape_comparison(line) + "\n\n";
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
  for (const std::string& line : remarks_of(comparison)) out += "- " + escape_comparison(line) + "\n";
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  std::vector<std::string> rows;
  for (const ComparedRow& row : comparison.rows) rows.push_back("\n    " + compared_row_json(row));
  std::vector<std::string> differences;
  for (const SideDifference& difference : comparison.differences) {
    differences.push_back(fmt::format(R"({{"name":{},"a":{},"b":{}}})", json_quote(difference.name), json_quote(difference.a),
                                      json_quote(difference.b)));
  }
  return fmt::format(R"({{"schema":1,"a":{},"b":{},"metric":{},"unit":{},"confidence":{},"margin":{},)",
                     json_quote(comparison.a), json_quote(comparison.b), json_quote(comparison.metric),
                     json_quote(comparison.unit), comparison.confidence, comparison.margin) +
         fmt::format("\n  \"rows\":[{}],\n", join(rows, ",")) +
         fmt::format(R"(  "only_a":{},"only_b":{},"differences":[{}],"notes":{},)", json_list(comparison.only_a),
                     json_list(comparison.only_b), join(differences, ","), json_list(comparison.notes)) +
         fmt::format(R"("fail_if":{},"fails":{}}})", comparison.fail_if ? json_quote(comparison.fail_if->text) : "null",
                     comparison.fails) +
         "\n";
}

}  // namespace hpcbench
