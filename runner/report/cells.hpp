#pragma once

#include <string>

#include "report/columns.hpp"

namespace hpcbench {

// The cells of columns.cpp. Each function returns the text for one row, `-` if absent; digits as in docs/statistics.md.

inline constexpr const char* kAbsentCell = "-";

// Cells of the metric, in the table's unit (metric_cells.cpp).
/// Returns the divisor of metric values: seconds in the table's unit of time, 1 for other units.
double seconds_per_unit(const Table& table);
/// Returns seconds as `h:mm:ss`, to the whole second.
std::string clock_text(double seconds);
/// Returns a value of the metric in the table's unit, rounded at a power of ten of that unit.
std::string metric_text(const Table& table, double value, int exponent);
/// Returns the name of the statistic: `median`; for published values theirs, `mean`; `value` if rows differ in it.
std::string value_word(const Table& table);
int published_exponent_of(const Table& table);
std::string median_cell(const Table& table, const Row& row, const CellStyle& style);
std::string interval_cell(const Table& table, const Row& row, const CellStyle& style);
/// Returns `63.2 [61.0, 65.1]`, at the table's confidence.
std::string median_with_interval_cell(const Table& table, const Row& row, const CellStyle& style);
std::string low_cell(const Table& table, const Row& row, const CellStyle& style);
std::string high_cell(const Table& table, const Row& row, const CellStyle& style);
std::string coverage_cell(const Table& table, const Row& row, const CellStyle& style);
std::string q1_cell(const Table& table, const Row& row, const CellStyle& style);
std::string q3_cell(const Table& table, const Row& row, const CellStyle& style);
std::string min_cell(const Table& table, const Row& row, const CellStyle& style);
std::string max_cell(const Table& table, const Row& row, const CellStyle& style);
std::string time_to_target_cell(const Table& table, const Row& row, const CellStyle& style);
/// Returns `[low, high] 95.3 %`.
/// `looks` above 1: the coverage is that of so many looks together.
std::string interval_text(const std::string& low, const std::string& high, const Interval& interval);

// Cells of comparisons with the baseline (ratio_cells.cpp).
std::string speedup_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_low_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_high_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_interval_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_with_interval_cell(const Table& table, const Row& row, const CellStyle& style);
/// Returns whether the speedup of some row, as printed, is not the ratio of the medians.
bool has_other_ratio(const Table& table);

/// Returns whether some row is larger or smaller than its baseline: among rows of one size the efficiency would equal the
/// speedup, and exceed 1 for a faster program.
bool has_efficiency(const Table& table);
std::string ratio_of_medians_cell(const Table& table, const Row& row, const CellStyle& style);
std::string time_saved_cell(const Table& table, const Row& row, const CellStyle& style);
std::string efficiency_cell(const Table& table, const Row& row, const CellStyle& style);

// Other cells (other_cells.cpp).
std::string outcomes_cell(const Table& table, const Row& row, const CellStyle& style);
std::string set_aside_cell(const Table& table, const Row& row, const CellStyle& style);
std::string phases_cell(const Table& table, const Row& row, const CellStyle& style);
std::string fact_cell(const Row& row, const std::string& name);
/// Returns a number that the runs wrote: three significant digits, but no more than were written; an imported number keeps its
/// digits, like the metric.
std::string written_text(const Row& row, double value);
std::string metric_of_row_cell(const Row& row, const std::string& name);

// Members of a row's JSON that are objects (formats/json_format.cpp).
void write_interval(JsonWriter& json, const Row& row);
void write_speedup(JsonWriter& json, const Row& row);
void write_outcomes(JsonWriter& json, const Row& row);
void write_phases(JsonWriter& json, const Row& row);

}  // namespace hpcbench
