#pragma once

#include <vector>

#include "report/comparison/comparison.hpp"

namespace hpcbench {

/// Values of both sides of a row; empty where they cannot be compared.
struct Sides {
  std::vector<double> a, b;
};

/// Lower is better of times; higher of rates; of other metrics it is unknown.
enum class Direction { time, rate, other };
Direction direction_of(const Comparison& comparison);

/// A row of one side or of both, as rules see it; null where the side lacks the configuration.
struct GateRow {
  const Row* a = nullptr;
  const Row* b = nullptr;
  int b_not_begun = 0;  // runs of B's plan without an attempt
};

/// `k=2`: by the axes that tell rows apart, if there are any; a row of one side by all its axes.
std::string name_of_row(const Comparison& comparison, const GateRow& row);

/// The runs of a row of a table; of a null row none.
SideRuns runs_of_side(const Row* row, const Table& side);

/// Values of the runs that succeeded.
std::vector<double> values_of_row(const Row& row);

/// Fills in `rules` and `ComparedRow::fails`. `slower > X` and its kind hold of a row if the one-sided test of a change by X
/// rejects at half the level 1 - confidence, with Holm over the rows: for one row the same as that its lower bound is above X.
/// Such a rule passes only if each side has enough runs to show it (fewest_runs_to_reject). `sides` and `matched` are in the
/// order of the comparison's rows; `single` are the rows of one side only.
void apply_rules(Comparison& comparison, const ComparisonOptions& options, const std::vector<Sides>& sides,
                 const std::vector<GateRow>& matched, const std::vector<GateRow>& single);

}  // namespace hpcbench
