#pragma once

#include <vector>

#include "report/comparison/comparison.hpp"

namespace hpcbench {

/// Values of both sides of a row; empty if they cannot be compared.
struct Sides {
  std::vector<double> a, b;
};

/// Lower is better for times, higher for rates; for other metrics it is unknown.
enum class Direction { time, rate, other };
Direction direction_of(const Comparison& comparison);

/// A row of one side or of both, for the rules; null if the side lacks the configuration.
struct GateRow {
  const Row* a = nullptr;
  const Row* b = nullptr;
  int b_not_begun = 0;  // runs of B's plan without an attempt
};

/// Returns the row's name, `k=2`: by the axes that distinguish rows, if any; a row of one side by all its axes.
std::string name_of_row(const Comparison& comparison, const GateRow& row);

/// Returns the runs of a row of a table; none for a null row.
SideRuns runs_of_side(const Row* row, const Table& side);

/// Returns values of the runs that succeeded.
std::vector<double> values_of_row(const Row& row);

/// Fills in `rules` and `ComparedRow::fails`. `slower > X` and similar rules hold for a row if the one-sided test of a change
/// by X rejects at half the level 1 - confidence, with Holm over the rows: for one row this equals a lower bound above X. Such
/// a rule passes only if each side has enough runs to prove it (fewest_runs_to_reject). `sides` and `matched` are in the order
/// of the comparison's rows; `single` are the rows of one side only.
void apply_rules(Comparison& comparison, const ComparisonOptions& options, const std::vector<Sides>& sides,
                 const std::vector<GateRow>& matched, const std::vector<GateRow>& single);

}  // namespace hpcbench
