#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// Of B against A. `faster` and `slower` of times and rates, `higher` and `lower` of all other metrics.
enum class ComparisonVerdict { faster, slower, higher, lower, equivalent, not_resolved };
std::string to_string(ComparisonVerdict verdict);

/// The runs of one side of a row, by what they contribute.
struct SideRuns {
  int with_value = 0;
  int without_value = 0;  // succeeded; `nan` of them came out NaN or infinite
  int nan = 0;
  int failed = 0;          // any outcome but success
  int unfinished = 0;      // waiting or running
  int not_begun = 0;       // planned, and not on record
  int set_aside = 0;       // set aside, and not measured again
  int measured_again = 0;  // with an earlier measurement that was set aside
  /// `4 with a value, 1 failed, 2 set aside`; `no runs`.
  std::string text;

  bool is_complete() const { return without_value + failed + unfinished + not_begun + set_aside + measured_again == 0; }
};

/// One configuration that both sides have.
struct ComparedRow {
  Bindings axes;  // those that both sides know
  std::string a_id, b_id;
  int a_n = 0, b_n = 0;
  SideRuns a_runs, b_runs;
  std::optional<double> a_median, b_median;
  int a_exponent = 0, b_exponent = 0;  // powers of ten: of the last digits of the two medians
  std::optional<Ratio> ratio;          // B / A: Hodges-Lehmann with its exact interval, of this row alone
  std::optional<double> p_value;       // two-sided, of no difference; absent without two sides of values
  std::optional<double> adjusted_p;    // after Holm, over all rows
  bool equivalent = false;             // surely within the margin, after Holm
  ComparisonVerdict verdict = ComparisonVerdict::not_resolved;
  std::string remark;  // why there is no interval, where there is none
  bool fails = false;  // a rule of --fail-if holds
};

/// A fact that is not the same on both sides: values of each joined by `, `; `-` if absent.
struct SideDifference {
  std::string name, a, b;
};

/// A condition of `--fail-if`, about B against A.
struct FailRule {
  enum class Kind { slower, faster, higher, lower, not_equivalent, not_resolved, missing, failed, no_value };
  Kind kind = Kind::slower;
  double threshold = 0;  // slower, faster, higher, lower: a share, 0.05 for 5 %; failed: a number of runs
  std::string metric;    // of `METRIC > 5%` (higher) and `METRIC < -5%` (lower); empty: the metric that is compared
  std::string text;      // as it was written
};
/// InputError for anything else. Whether a metric exists is not checked here.
FailRule parse_fail_rule(const std::string& text);

/// `undecided`: too few runs to show the rule, or no values that could; `not_compared`: a side of the row has no value.
enum class GateState { passes, fails, undecided, not_compared };
std::string to_string(GateState state);

/// One rule about one row. A row of one side only has its own axes as its name.
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

/// `5%`, `5 %` or `0.05` as 0.05. InputError unless it is more than 0 and at most 1.
double parse_share(const std::string& text, const std::string& option);

struct ComparisonOptions {
  std::string a = "A", b = "B";  // names of the sides
  double margin = 0.05;          // of equivalence, a share
  std::vector<FailRule> fail_if;
  bool allow_missing = false;  // else a row with values in A and none in B fails, too
};

struct Comparison {
  std::string a, b;
  std::string metric, unit;
  MetricKind kind;  // which values are better
  double confidence = 0.95;
  long long looks = 1;  // at which it could have been made: those of A times those of B; p-values and intervals pay for them
  double margin = 0.05;
  std::vector<std::string> columns;         // axes that tell the rows apart
  std::vector<ComparedRow> rows;            // in the order of A
  std::vector<std::string> only_a, only_b;  // configurations that the other side lacks
  std::vector<SideDifference> differences;
  std::vector<std::string> left_out;  // `k=2 in B: 4 with a value, 1 failed`: sides that are not complete
  std::vector<std::string> notes;
  std::vector<std::string> errors;  // of imports: values are incomplete, and no rule is decided
  std::vector<RuleResult> rules;    // of --fail-if; empty without
};

/// The state of all rules together: `undecided` with errors; else `fails` if one fails, `undecided` if one is, and `passes` if
/// all do.
GateState gate_state(const Comparison& comparison);

/// Matches rows by the axes that both tables have. Verdicts at the level 1 - confidence of A over all rows (Holm's step-down on
/// exact rank-sum tests); equivalence by two one-sided tests at that level, also with Holm. Rules: see gate.hpp.
/// InputError where nothing matches, where axes do not tell rows apart, or where the metrics or their units differ.
Comparison compare_tables(const Table& a, const Table& b, const ComparisonOptions& options);

/// Adds errors of imports: no rule is decided by values that are incomplete or old.
void add_errors(Comparison& comparison, std::vector<std::string> errors);

/// The result of each rule, with the rows that it does not pass, for people.
std::vector<std::string> gate_lines(const Comparison& comparison);

/// `1.08 [1.07, 1.09]`, `-` without a ratio.
std::string compared_ratio_text(const ComparedRow& row);

/// One row a format: `text`, `markdown`, `latex`, `html`, `csv`, `json`, `github`, `junit`. Deterministic bytes.
struct ComparisonFormat {
  std::string name;
  bool of_gates = false;         // shows rules only: it needs one
  bool is_for_programs = false;  // prints no lines of the gate for people
  std::string (*print)(const Comparison& comparison);
  std::string (*print_error)(const std::string& message) = nullptr;  // in place of a comparison that could not be made
};
const std::vector<ComparisonFormat>& comparison_formats();

}  // namespace hpcbench
