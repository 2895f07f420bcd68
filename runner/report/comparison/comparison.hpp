#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// Of B against A. `faster` and `slower` of times and rates, `higher` and `lower` of all other metrics.
enum class ComparisonVerdict { faster, slower, higher, lower, equivalent, not_resolved };
std::string to_string(ComparisonVerdict verdict);

/// One configuration that both sides have.
struct ComparedRow {
  Bindings axes;  // those that both sides know
  std::string a_id, b_id;
  int a_n = 0, b_n = 0;
  std::optional<double> a_median, b_median;
  int a_exponent = 0, b_exponent = 0;  // powers of ten: of the last digits of the two medians
  std::optional<Ratio> ratio;          // B / A: Hodges-Lehmann with its exact interval, of this row alone
  std::optional<double> p_value;       // two-sided, of no difference; absent without two sides of values
  std::optional<double> adjusted_p;    // after Holm, over all rows
  bool equivalent = false;             // surely within the margin, after Holm
  ComparisonVerdict verdict = ComparisonVerdict::not_resolved;
  std::string remark;  // why there is no interval, where there is none
  bool fails = false;  // --fail-if is true of it
};

/// A fact that is not the same on both sides: values of each joined by `, `; `-` if absent.
struct SideDifference {
  std::string name, a, b;
};

/// What `--fail-if` asks for: `slower > 5%`, `faster`, `not equivalent`, `not resolved`, `missing`.
struct FailRule {
  enum class Kind { slower, faster, higher, lower, not_equivalent, not_resolved, missing };
  Kind kind = Kind::slower;
  double threshold = 0;  // a share: 0.05 for 5 %; of the first four only
  std::string text;      // as it was written
};
/// InputError for anything else.
FailRule parse_fail_rule(const std::string& text);
/// `5%`, `5 %` or `0.05` as 0.05. InputError unless it is more than 0 and at most 1.
double parse_share(const std::string& text, const std::string& option);

struct ComparisonOptions {
  std::string a = "A", b = "B";  // names of the sides
  double margin = 0.05;          // of equivalence, a share
  std::optional<FailRule> fail_if;
};

struct Comparison {
  std::string a, b;
  std::string metric, unit;
  double confidence = 0.95;
  long long looks = 1;  // at which it could have been made: those of A times those of B; p-values and intervals pay for them
  double margin = 0.05;
  std::vector<std::string> columns;         // axes that tell the rows apart
  std::vector<ComparedRow> rows;            // in the order of A
  std::vector<std::string> only_a, only_b;  // configurations that the other side lacks
  std::vector<SideDifference> differences;
  std::vector<std::string> notes;
  std::optional<FailRule> fail_if;
  bool fails = false;
};

/// Matches rows by the axes that both tables have. Verdicts at the level 1 - confidence of A over all rows (Holm's step-down on
/// exact rank-sum tests); equivalence by two one-sided tests at that level, also with Holm; `slower > X` where the one-sided
/// test of a slowdown by X rejects at half the level, with Holm: for one row the same as that its lower bound is above X.
/// InputError where nothing matches, where axes do not tell rows apart, or where the metrics or their units are two.
Comparison compare_tables(const Table& a, const Table& b, const ComparisonOptions& options);

std::string comparison_text(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
/// Full precision, absent = null.
std::string comparison_json(const Comparison& comparison);

}  // namespace hpcbench
