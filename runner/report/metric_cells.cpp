#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "report/cells.hpp"
#include "report/digits.hpp"

namespace hpcbench {
namespace {

bool is_imported(const Row& row) { return row.source != "measured" && row.summary && !row.summary->interval; }

/// Returns the exponent of the finest digit of the row's values. 778.8 s is exactly 12.98 min: twelve digits of a quotient are
/// kept, later ones come from binary rounding.
int given_exponent(const Row& row, double scale) {
  int finest = 9;
  for (const RunValue& run : row.runs) {
    if (!run.value) continue;
    const double value = scale == 1 ? *run.value : std::strtod(fmt::format("{:.12g}", *run.value / scale).c_str(), nullptr);
    finest = std::min(finest, last_exponent(value));
  }
  return finest;
}

/// Returns the exponent without an interval: no more digits than the inputs had, so programs that print whole seconds get whole
/// seconds.
int input_exponent(const Row& row, double scale) {
  const int finest = given_exponent(row, 1);
  return scale == 1 ? finest : static_cast<int>(std::floor(std::log10(std::pow(10.0, finest) / scale)));
}

/// Returns the interval with a known width: a side that is only a bound (a time limit, a speedup of 0) is replaced by the other
/// side's width.
Interval known_width(double value, Interval interval, bool high_is_known) {
  if (!high_is_known) interval.high = 2 * value - interval.low;
  return interval;
}

int metric_exponent(const Row& row, double scale, const CellStyle& style) {
  const double median = row.summary->median / scale;
  std::optional<Interval> interval = row.summary->interval;
  if (interval) interval = known_width(row.summary->median, *interval, interval->high != row.censored_at_s);
  if (interval && interval->high > interval->low) {
    return exponent_for_interval(median, interval->low / scale, interval->high / scale);
  }
  if (is_imported(row)) return std::max(style.published_exponent, std::min(-2, exponent_without_interval(median)));
  return std::max(exponent_without_interval(median), input_exponent(row, scale));
}

std::string limit_text(const Table& table, const Row& row) {
  const double limit = *row.censored_at_s / seconds_per_unit(table);
  return ">" + metric_text(table, *row.censored_at_s, std::max(exponent_without_interval(limit), last_exponent(limit)));
}

/// Returns a number of the row's summary, with the row's digits; `>` if it is the limit that censored runs reached.
std::string summary_text(const Table& table, const Row& row, const CellStyle& style, double value) {
  if (row.censored_at_s && value == *row.censored_at_s) return limit_text(table, row);
  return metric_text(table, value, metric_exponent(row, seconds_per_unit(table), style));
}

/// A published median has no other statistics.
template <double Summary::*kMember>
std::string spread_cell(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary || !row.statistic.empty() || !std::isfinite((*row.summary).*kMember)) return kAbsentCell;
  return summary_text(table, row, style, (*row.summary).*kMember);
}

template <double Interval::*kMember>
std::string interval_end_cell(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary || !row.summary->interval) return kAbsentCell;
  return summary_text(table, row, style, (*row.summary->interval).*kMember);
}

}  // namespace

double seconds_per_unit(const Table& table) {
  if (table.unit != "s") return 1;
  return table.time_unit == "h" ? 3600 : table.time_unit == "min" ? 60 : 1;
}

std::string clock_text(double seconds) {
  constexpr double kLongest = 1e15;  // beyond it a double cannot represent single seconds
  if (!(std::abs(seconds) < kLongest)) return round_at(seconds, exponent_without_interval(seconds)) + " s";
  const auto whole = static_cast<long long>(std::llround(std::abs(seconds)));
  return fmt::format("{}{}:{:02}:{:02}", seconds < 0 && whole > 0 ? "-" : "", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string metric_text(const Table& table, double value, int exponent) {
  if (table.unit == "s" && table.time_unit == "h:mm:ss") {
    const double unit = std::pow(10.0, std::max(exponent, 0));
    return clock_text(std::round(value / unit) * unit);
  }
  return round_at(value / seconds_per_unit(table), exponent);
}

std::string value_word(const Table& table) {
  std::set<std::string> words;
  for (const Row& row : table.rows) {
    if (row.summary || row.censored_at_s) words.insert(row.statistic.empty() ? "median" : row.statistic);
  }
  return words.empty() ? "median" : words.size() == 1 ? *words.begin() : "value";
}

int published_exponent_of(const Table& table) {
  int finest = 9;
  for (const Row& row : table.rows) {
    if (is_imported(row)) finest = std::min(finest, given_exponent(row, seconds_per_unit(table)));
  }
  return finest;
}

std::string median_cell(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary && row.censored_at_s) return limit_text(table, row);
  return row.summary ? summary_text(table, row, style, row.summary->median) : kAbsentCell;
}

std::string q1_cell(const Table& table, const Row& row, const CellStyle& style) {
  return spread_cell<&Summary::q1>(table, row, style);
}
std::string q3_cell(const Table& table, const Row& row, const CellStyle& style) {
  return spread_cell<&Summary::q3>(table, row, style);
}
std::string min_cell(const Table& table, const Row& row, const CellStyle& style) {
  return spread_cell<&Summary::min>(table, row, style);
}
std::string max_cell(const Table& table, const Row& row, const CellStyle& style) {
  return spread_cell<&Summary::max>(table, row, style);
}
std::string low_cell(const Table& table, const Row& row, const CellStyle& style) {
  return interval_end_cell<&Interval::low>(table, row, style);
}
std::string high_cell(const Table& table, const Row& row, const CellStyle& style) {
  return interval_end_cell<&Interval::high>(table, row, style);
}

std::string interval_text(const std::string& low, const std::string& high, const Interval& interval) {
  const std::string bounds = fmt::format("[{}, {}] ", low, high);
  if (interval.looks > 1) return bounds + fmt::format("{:g} % over {} looks", 100 * interval.coverage, interval.looks);
  return bounds + fmt::format("{:.1f} %", 100 * interval.coverage);
}

std::string interval_cell(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary || !row.summary->interval) return kAbsentCell;
  return interval_text(low_cell(table, row, style), high_cell(table, row, style), *row.summary->interval);
}

std::string median_with_interval_cell(const Table& table, const Row& row, const CellStyle& style) {
  const std::string median = median_cell(table, row, style);
  if (!row.summary || !row.summary->interval) return median;
  return fmt::format("{} [{}, {}]", median, low_cell(table, row, style), high_cell(table, row, style));
}

std::string coverage_cell(const Table&, const Row& row, const CellStyle&) {
  return row.summary && row.summary->interval ? fmt::format("{:.4f}", row.summary->interval->coverage) : kAbsentCell;
}

std::string time_to_target_cell(const Table& table, const Row& row, const CellStyle&) {
  if (!row.losses.time_to_target_s) return kAbsentCell;
  const double scale = table.time_unit == "h" ? 3600 : table.time_unit == "min" ? 60 : 1;
  if (table.time_unit == "h:mm:ss") return clock_text(*row.losses.time_to_target_s);
  return three_digits(*row.losses.time_to_target_s / scale);
}

}  // namespace hpcbench
