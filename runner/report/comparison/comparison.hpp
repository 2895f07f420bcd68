#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// The verdict on B against A. `faster` and `slower` for times and rates, `higher` and `lower` for all other metrics.
enum class ComparisonVerdict { faster, slower, higher, lower, equivalent, not_resolved };
std::string to_string(ComparisonVerdict verdict);

/// The runs of one side of a row, by their contribution.
struct SideRuns {
  int with_value = 0;
  int without_value = 0;  // succeeded; for `nan` of them the value is NaN or infinite
  int nan = 0;
  int failed = 0;          // any outcome but success
  int unfinished = 0;      // waiting or running
  int not_begun = 0;       // planned, without a record
  int set_aside = 0;       // set aside and not measured again
  int measured_again = 0;  // with an earlier measurement that was set aside
  /// `4 with a value, 1 failed, 2 set aside`; `no runs`.
  std::string text;

  bool is_complete() const { return without_value + failed + unfinished + not_begun + set_aside + measured_again == 0; }
};

/// One configuration that both sides have.
struct ComparedRow {
  Bindings axes;  // axes that both sides have
  std::string a_id, b_id;
  int a_n = 0, b_n = 0;
  SideRuns a_runs, b_runs;
  std::optional<double> a_median, b_median;
  int a_exponent = 0, b_exponent = 0;  // powers of ten of the last digits of the two medians
  std::optional<Ratio> ratio;          // B / A: Hodges-Lehmann with its exact interval, for this row alone
  std::optional<double> p_value;       // two-sided, for no difference; nullopt without values on two sides
  std::optional<double> adjusted_p;    // after Holm, over all rows
  bool equivalent = false;             // surely within the margin, after Holm
  ComparisonVerdict verdict = ComparisonVerdict::not_resolved;
  std::string remark;  // why the interval is missing, if it is
  bool fails = false;  // a rule of --fail-if holds
};

/// A fact that differs between the sides: values of each joined by `, `; `-` if absent.
struct SideDifference {
  std::string name, a, b;
};

/// A condition of `--fail-if`, about B against A.
struct FailRule {
  enum class Kind { slower, faster, higher, lower, not_equivalent, not_resolved, missing, failed, no_value };
  Kind kind = Kind::slower;
  double threshold = 0;  // slower, faster, higher, lower: a share, 0.05 for 5 %; failed: a number of runs
  std::string metric;    // of `METRIC > 5%` (higher) and `METRIC < -5%` (lower); empty: the compared metric
  std::string text;      // as the user wrote it
};
/// Parses a condition; InputError for anything else. Does not check that a metric exists.
FailRule parse_fail_rule(const std::string& text);

/// `undecided`: too few runs to prove the rule, or no values for it; `not_compared`: a side of the row has no value.
enum class GateState { passes, fails, undecided, not_compared };
std::string to_string(GateState state);

/// One rule applied to one row. The name of a row of one side consists of its own axes.
struct RowFinding {
  std::string row;
  GateState state = GateState::passes;
  std::string reason;
};

struct RuleResult {
  FailRule rule;
  GateState state = GateState::passes;
  std::vector<RowFinding> rows;
};

/// Parses `5%`, `5 %` or `0.05` as 0.05. InputError unless it is more than 0 and at most 1.
double parse_share(const std::string& text, const std::string& option);

struct ComparisonOptions {
  std::string a = "A", b = "B";  // names of the sides
  double margin = 0.05;          // of equivalence, a share
  std::vector<FailRule> fail_if;
  bool allow_missing = false;  // else a row with values in A but none in B fails, too
};

struct Comparison {
  std::string a, b;
  std::string metric, unit;
  MetricKind kind;  // which values are better
  double confidence = 0.95;
  long long looks = 1;  // possible looks: those of A times those of B; p-values and intervals are corrected for them
  double margin = 0.05;
  std::vector<std::string> columns;         // axes that tell the rows apart
  std::vector<ComparedRow> rows;            // in the order of A
  std::vector<std::string> only_a, only_b;  // configurations that the other side lacks
  std::vector<SideDifference> differences;
  std::vector<std::string> left_out;  // `k=2 in B: 4 with a value, 1 failed`: incomplete sides
  std::vector<std::string> notes;
  std::vector<std::string> errors;  // of imports: values are incomplete, so no rule is decided
  std::vector<RuleResult> rules;    // of --fail-if; empty without it
};

/// Returns the state of all rules together: `undecided` with errors; else `fails` if one fails, `undecided` if one is, and
/// `passes` if all pass.
GateState gate_state(const Comparison& comparison);

/// Matches rows by the axes that both tables have. Verdicts at the level 1 - confidence of A over all rows (Holm's step-down on
/// exact rank-sum tests); equivalence by two one-sided tests at that level, also with Holm. Rules: see gate.hpp. InputError if
/// nothing matches, if axes do not distinguish rows, or if the metrics or their units differ.
Comparison compare_tables(const Table& a, const Table& b, const ComparisonOptions& options);

/// Adds errors of imports: values that are incomplete or old decide no rule.
void add_errors(Comparison& comparison, std::vector<std::string> errors);

/// Returns the result of each rule, with the rows that do not pass it, as text lines.
std::vector<std::string> gate_lines(const Comparison& comparison);

/// Returns the ratio with its interval, `1.08 [1.07, 1.09]`; `-` without a ratio.
std::string compared_ratio_text(const ComparedRow& row);

/// A format of `compare`: `text`, `markdown`, `latex`, `html`, `csv`, `json`, `github`, `junit`. Deterministic bytes.
struct ComparisonFormat {
  std::string name;
  bool of_gates = false;         // shows only rules, so it needs one
  bool is_for_programs = false;  // prints no lines of the gate for people
  std::string (*print)(const Comparison& comparison);
  std::string (*print_error)(const std::string& message) = nullptr;  // printed instead of a comparison that failed
};
const std::vector<ComparisonFormat>& comparison_formats();

}  // namespace hpcbench
