#include "base/json_writer.hpp"
#include "report/comparison/comparison.hpp"
#include "report/comparison/comparison_formats.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

void write_runs(JsonWriter& json, const SideRuns& runs) {
  json.begin_object().member("with_value", runs.with_value).member("without_value", runs.without_value);
  json.member("nan", runs.nan).member("failed", runs.failed).member("unfinished", runs.unfinished);
  json.member("not_begun", runs.not_begun).member("set_aside", runs.set_aside);
  json.member("measured_again", runs.measured_again).end();
}

void write_side(JsonWriter& json, const std::string& id, int n, const std::optional<double>& median, const SideRuns& runs) {
  json.begin_object().member("config_id", id).member("n", n).member("median", median);
  write_runs(json.key("runs"), runs);
  json.end();
}

void write_row(JsonWriter& json, const ComparedRow& row) {
  json.begin_object().key("axes").begin_object();
  for (const auto& [name, value] : row.axes) json.member(name, JsonText{value.canonical()});
  write_side(json.end().key("a"), row.a_id, row.a_n, row.a_median, row.a_runs);
  write_side(json.key("b"), row.b_id, row.b_n, row.b_median, row.b_runs);
  const auto end = [&](double Interval::*member) {
    return row.ratio && row.ratio->interval ? std::optional((*row.ratio->interval).*member) : std::nullopt;
  };
  json.member("ratio", row.ratio ? std::optional(row.ratio->value) : std::nullopt).member("low", end(&Interval::low));
  json.member("high", end(&Interval::high)).member("coverage", end(&Interval::coverage)).member("p_value", row.p_value);
  json.member("adjusted_p_value", row.adjusted_p).member("equivalent", row.equivalent);
  json.member("verdict", to_string(row.verdict)).member("remark", text_or_null(row.remark)).member("fails", row.fails).end();
}

void write_rule(JsonWriter& json, const RuleResult& result) {
  json.begin_object().member("rule", result.rule.text).member("metric", text_or_null(result.rule.metric));
  json.member("implied", result.rule.kind == FailRule::Kind::no_value).member("state", to_string(result.state));
  json.key("rows").begin_array();
  for (const RowFinding& row : result.rows) {
    json.break_line(6).begin_object().member("row", row.row).member("state", to_string(row.state));
    json.member("reason", text_or_null(row.reason)).end();
  }
  json.end().end();
}

std::string csv_number(const std::optional<double>& number) { return number ? to_json(*number) : ""; }

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
  JsonWriter json;
  json.begin_object().member("schema", 1).member("a", comparison.a).member("b", comparison.b);
  json.member("metric", comparison.metric).member("unit", comparison.unit).member("confidence", comparison.confidence);
  json.member("margin", comparison.margin).break_line(2).key("rows").begin_array();
  for (const ComparedRow& row : comparison.rows) write_row(json.break_line(4), row);
  json.end().break_line(2).member("only_a", comparison.only_a).member("only_b", comparison.only_b);
  json.key("differences").begin_array();
  for (const SideDifference& difference : comparison.differences)
    json.begin_object().member("name", difference.name).member("a", difference.a).member("b", difference.b).end();
  json.end().member("left_out", comparison.left_out).member("notes", comparison.notes).member("errors", comparison.errors);
  json.break_line(2).key("rules").begin_array();
  for (const RuleResult& result : comparison.rules) write_rule(json.break_line(4), result);
  json.end().break_line(2);
  json.member("gate", comparison.rules.empty() ? std::nullopt : std::optional<std::string>(to_string(gate_state(comparison))));
  return json.member("fails", gate_state(comparison) == GateState::fails).end().take() + "\n";
}

}  // namespace hpcbench
