#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/json_text.hpp"
#include "report/comparison/comparison.hpp"
#include "report/comparison/comparison_formats.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

std::string runs_json(const SideRuns& runs) {
  return fmt::format(
      R"({{"with_value":{},"without_value":{},"nan":{},"failed":{},"unfinished":{},"not_begun":{},"set_aside":{},"measured_again":{}}})",
      runs.with_value, runs.without_value, runs.nan, runs.failed, runs.unfinished, runs.not_begun, runs.set_aside,
      runs.measured_again);
}

std::string compared_row_json(const ComparedRow& row) {
  std::vector<std::string> axes;
  for (const auto& [name, value] : row.axes) axes.push_back(json_quote(name) + ":" + value.canonical());
  const Interval* const interval = row.ratio && row.ratio->interval ? &*row.ratio->interval : nullptr;
  const auto end = [&](double Interval::*field) {
    return interval != nullptr ? json_number(interval->*field) : json_number({});
  };
  return fmt::format(R"({{"axes":{{{}}},"a":{{"config_id":{},"n":{},"median":{},"runs":{}}},)", join(axes, ","),
                     json_quote(row.a_id), row.a_n, json_number(row.a_median), runs_json(row.a_runs)) +
         fmt::format(R"("b":{{"config_id":{},"n":{},"median":{},"runs":{}}},)", json_quote(row.b_id), row.b_n,
                     json_number(row.b_median), runs_json(row.b_runs)) +
         fmt::format(R"("ratio":{},"low":{},"high":{},"coverage":{},"p_value":{},"adjusted_p_value":{},)",
                     json_number(row.ratio ? std::optional(row.ratio->value) : std::nullopt), end(&Interval::low),
                     end(&Interval::high), end(&Interval::coverage), json_number(row.p_value), json_number(row.adjusted_p)) +
         fmt::format(R"("equivalent":{},"verdict":{},"remark":{},"fails":{}}})", row.equivalent,
                     json_quote(to_string(row.verdict)), row.remark.empty() ? "null" : json_quote(row.remark), row.fails);
}

std::string rule_json(const RuleResult& result) {
  std::vector<std::string> rows;
  for (const RowFinding& row : result.rows) {
    rows.push_back(fmt::format(R"(
      {{"row":{},"state":{},"reason":{}}})",
                               json_quote(row.row), json_quote(to_string(row.state)),
                               row.reason.empty() ? "null" : json_quote(row.reason)));
  }
  return fmt::format(R"(
    {{"rule":{},"metric":{},"implied":{},"state":{},"rows":[{}]}})",
                     json_quote(result.rule.text), result.rule.metric.empty() ? "null" : json_quote(result.rule.metric),
                     result.rule.kind == FailRule::Kind::no_value, json_quote(to_string(result.state)), join(rows, ","));
}

std::string csv_number(const std::optional<double>& number) { return number ? json_number(number) : ""; }

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::vector<std::string> header;
  if (!comparison.rows.empty()) {
    for (const auto& [name, value] : comparison.rows.front().axes) header.push_back(name);
  }
  for (const char* name : {"n_a", "n_b", "a", "b", "ratio", "low", "high", "coverage", "p_value", "adjusted_p_value", "verdict",
                           "equivalent", "remark", "fails", "runs_a", "runs_b"})
    header.emplace_back(name);
  std::string out = csv_line(header);
  for (const ComparedRow& row : comparison.rows) {
    std::vector<std::string> cells;
    for (const auto& [name, value] : row.axes) cells.push_back(value.text());
    const Interval* const interval = row.ratio && row.ratio->interval ? &*row.ratio->interval : nullptr;
    const auto end = [&](double Interval::*field) { return interval != nullptr ? csv_number(interval->*field) : ""; };
    for (std::string& cell : std::vector<std::string>{
             std::to_string(row.a_n), std::to_string(row.b_n), csv_number(row.a_median), csv_number(row.b_median),
             csv_number(row.ratio ? std::optional(row.ratio->value) : std::nullopt), end(&Interval::low), end(&Interval::high),
             end(&Interval::coverage), csv_number(row.p_value), csv_number(row.adjusted_p), to_string(row.verdict),
             row.equivalent ? "true" : "false", row.remark,
             row.fails                   ? "true"
             : comparison.errors.empty() ? "false"
                                         : "",
             row.a_runs.text, row.b_runs.text})
      cells.push_back(std::move(cell));
    out += csv_line(cells);
  }
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
  std::vector<std::string> rules;
  for (const RuleResult& result : comparison.rules) rules.push_back(rule_json(result));
  return fmt::format(R"({{"schema":1,"a":{},"b":{},"metric":{},"unit":{},"confidence":{},"margin":{},)",
                     json_quote(comparison.a), json_quote(comparison.b), json_quote(comparison.metric),
                     json_quote(comparison.unit), comparison.confidence, comparison.margin) +
         fmt::format("\n  \"rows\":[{}],\n", join(rows, ",")) +
         fmt::format(R"(  "only_a":{},"only_b":{},"differences":[{}],"left_out":{},"notes":{},"errors":{},)",
                     json_list(comparison.only_a), json_list(comparison.only_b), join(differences, ","),
                     json_list(comparison.left_out), json_list(comparison.notes), json_list(comparison.errors)) +
         fmt::format("\n  \"rules\":[{}],\n", join(rules, ",")) +
         fmt::format(R"(  "gate":{},"fails":{}}})",
                     comparison.rules.empty() ? "null" : json_quote(to_string(gate_state(comparison))),
                     gate_state(comparison) == GateState::fails) +
         "\n";
}

}  // namespace hpcbench
