#pragma once

#include <string>

#include "report/columns.hpp"

namespace hpcbench {

// The cells of columns.cpp. Each gives the text of one row, `-` for an absent value; digits as in docs/statistics.md.

inline constexpr const char* kAbsentCell = "-";

// Of the metric, in the table's unit (metric_cells.cpp).
/// Seconds in the table's unit of time, others as they are: what metric values are divided by.
double seconds_per_unit(const Table& table);
/// Seconds as `h:mm:ss`, to the whole second.
std::string clock_text(double seconds);
/// A value of the metric in the table's unit, rounded at a power of ten of that unit.
std::string metric_text(const Table& table, double value, int exponent);
/// The statistic that the values are: `median`; of published ones theirs, `mean`; `value` where rows differ in it.
std::string value_word(const Table& table);
int published_exponent_of(const Table& table);
std::string median_cell(const Table& table, const Row& row, const CellStyle& style);
std::string interval_cell(const Table& table, const Row& row, const CellStyle& style);
/// `63.2 [61.0, 65.1]`, at the table's confidence.
std::string median_with_interval_cell(const Table& table, const Row& row, const CellStyle& style);
std::string low_cell(const Table& table, const Row& row, const CellStyle& style);
std::string high_cell(const Table& table, const Row& row, const CellStyle& style);
std::string coverage_cell(const Table& table, const Row& row, const CellStyle& style);
std::string q1_cell(const Table& table, const Row& row, const CellStyle& style);
std::string q3_cell(const Table& table, const Row& row, const CellStyle& style);
std::string min_cell(const Table& table, const Row& row, const CellStyle& style);
std::string max_cell(const Table& table, const Row& row, const CellStyle& style);
std::string time_to_target_cell(const Table& table, const Row& row, const CellStyle& style);
/// `[low, high] 95.3 %`.
/// `looks` above 1: the coverage is that of so many looks together.
std::string interval_text(const std::string& low, const std::string& high, const Interval& interval);

// Of comparisons with the baseline (ratio_cells.cpp).
std::string speedup_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_low_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_high_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_interval_cell(const Table& table, const Row& row, const CellStyle& style);
std::string speedup_with_interval_cell(const Table& table, const Row& row, const CellStyle& style);
/// Whether the speedup of some row, as printed, is not the ratio of the medians.
bool has_other_ratio(const Table& table);

/// Whether some row is larger or smaller than its baseline: among rows of one size the efficiency would be the speedup again,
/// and call a faster program efficient beyond 1.
bool has_efficiency(const Table& table);
std::string ratio_of_medians_cell(const Table& table, const Row& row, const CellStyle& style);
std::string time_saved_cell(const Table& table, const Row& row, const CellStyle& style);
std::string efficiency_cell(const Table& table, const Row& row, const CellStyle& style);

// Of the rest (other_cells.cpp).
std::string outcomes_cell(const Table& table, const Row& row, const CellStyle& style);
std::string set_aside_cell(const Table& table, const Row& row, const CellStyle& style);
std::string phases_cell(const Table& table, const Row& row, const CellStyle& style);
std::string fact_cell(const Row& row, const std::string& name);
/// A number that the runs wrote: three significant digits, but no more than were written; an imported one keeps what it came
/// with, as the metric does.
std::string written_text(const Row& row, double value);
std::string metric_of_row_cell(const Row& row, const std::string& name);

// Members of a row in JSON that are objects (formats/json_format.cpp).
void write_interval(JsonWriter& json, const Row& row);
void write_speedup(JsonWriter& json, const Row& row);
void write_outcomes(JsonWriter& json, const Row& row);
void write_phases(JsonWriter& json, const Row& row);

}  // namespace hpcbench
