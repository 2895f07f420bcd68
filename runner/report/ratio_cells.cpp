#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/cells.hpp"
#include "report/digits.hpp"

namespace hpcbench {
namespace {

/// Returns the speedup's interval times `factor`, with its known width: if censored runs leave no lower bound, the upper side
/// counts twice.
std::optional<Interval> ratio_width(const Row& row, double factor) {
  if (!row.speedup->interval) return std::nullopt;
  Interval known = *row.speedup->interval;
  if (!(known.low > 0)) known.low = 2 * row.speedup->value - known.high;
  return Interval{known.low * factor, known.high * factor, known.coverage};
}

std::string styled(const Table& table, std::string ratio) {
  if (table.speedup_style == "x") ratio += "x";
  return ratio;
}

/// Returns `<0.01` for a positive value that rounds to zero.
std::string positive_text(double value, int exponent) {
  std::string text = round_at(value, exponent);
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return value > 0 && is_zero ? "<" + round_at(std::pow(10.0, exponent), exponent) : text;
}

std::string ratio_text(const Table& table, const Row& row, double value) {
  const int exponent = exponent_for_ratio(row.speedup->value, ratio_width(row, 1));
  return styled(table, positive_text(value, exponent));
}

std::string plain_ratio(const std::optional<double>& value) {
  return value ? positive_text(*value, exponent_for_ratio(*value, std::nullopt)) : kAbsentCell;
}

template <double Interval::*kMember>
std::string speedup_end(const Table& table, const Row& row) {
  if (!row.speedup || !row.speedup->interval) return kAbsentCell;
  return ratio_text(table, row, (*row.speedup->interval).*kMember);
}

}  // namespace

std::string speedup_cell(const Table& table, const Row& row, const CellStyle&) {
  if (row.speedup) return ratio_text(table, row, row.speedup->value);
  if (!row.speedup_below) return kAbsentCell;
  // Rounded up, because the known statement is that the value is below it.
  return styled(table, "<" + round_at(std::ceil(*row.speedup_below * 100 - 1e-9) / 100, -2));
}

std::string speedup_low_cell(const Table& table, const Row& row, const CellStyle&) {
  return speedup_end<&Interval::low>(table, row);
}
std::string speedup_high_cell(const Table& table, const Row& row, const CellStyle&) {
  return speedup_end<&Interval::high>(table, row);
}

std::string speedup_interval_cell(const Table& table, const Row& row, const CellStyle&) {
  if (!row.speedup || !row.speedup->interval) return kAbsentCell;
  return interval_text(speedup_end<&Interval::low>(table, row), speedup_end<&Interval::high>(table, row),
                       *row.speedup->interval);
}

std::string speedup_with_interval_cell(const Table& table, const Row& row, const CellStyle& style) {
  const std::string speedup = speedup_cell(table, row, style);
  if (!row.speedup || !row.speedup->interval) return speedup;
  return fmt::format("{} [{}, {}]", speedup, speedup_low_cell(table, row, style), speedup_high_cell(table, row, style));
}

bool has_efficiency(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    return row.efficiency && row.speedup && (table.is_flat || *row.efficiency != row.speedup->value);
  });
}

bool has_other_ratio(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    if (!row.speedup || !row.ratio_of_medians) return false;
    // Equal numbers may round apart, because the estimate went through logarithms.
    const double share = row.speedup->value / *row.ratio_of_medians;
    return std::abs(share - 1) > 1e-9 &&
           ratio_text(table, row, row.speedup->value) != ratio_text(table, row, *row.ratio_of_medians);
  });
}

std::string ratio_of_medians_cell(const Table& table, const Row& row, const CellStyle&) {
  return row.ratio_of_medians ? styled(table, plain_ratio(row.ratio_of_medians)) : kAbsentCell;
}

std::string time_saved_cell(const Table& table, const Row& row, const CellStyle&) {
  if (!table.kind.scales || !row.ratio_of_medians || row.is_baseline || !(*row.ratio_of_medians > 0)) return kAbsentCell;
  return round_at(100 * (1 - 1 / *row.ratio_of_medians), 0) + " %";
}

/// Uses the digits of the speedup's interval, which shrinks in proportion.
std::string efficiency_cell(const Table&, const Row& row, const CellStyle&) {
  if (!row.efficiency) return kAbsentCell;
  if (!row.speedup || !row.speedup->interval || row.speedup->value <= 0) return plain_ratio(row.efficiency);
  const double factor = *row.efficiency / row.speedup->value;
  return positive_text(*row.efficiency, exponent_for_ratio(*row.efficiency, ratio_width(row, factor)));
}

}  // namespace hpcbench
