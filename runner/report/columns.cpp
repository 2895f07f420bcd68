#include "report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/digits.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

constexpr const char* kAbsent = "-";

/// Metric values are printed in report.time_unit where they are seconds.
double seconds_per_unit(const Table& table) {
  if (table.unit != "s") return 1;
  return table.time_unit == "h" ? 3600 : table.time_unit == "min" ? 60 : 1;
}

/// Without an interval, no more digits than the inputs had: programs that print whole seconds get whole seconds.
int input_exponent(const Row& row, double scale) {
  int finest = 9;
  for (const RunValue& run : row.runs) {
    if (run.value) finest = std::min(finest, last_exponent(*run.value));
  }
  return scale == 1 ? finest : static_cast<int>(std::floor(std::log10(std::pow(10.0, finest) / scale)));
}

/// An end that only bounds (a time limit, a speedup of 0) says nothing about the width: the other side counts twice.
Interval known_width(double value, Interval interval, bool low_is_known, bool high_is_known) {
  if (!low_is_known) interval.low = 2 * value - interval.high;
  if (!high_is_known) interval.high = 2 * value - interval.low;
  return interval;
}

int metric_exponent(const Row& row, double scale) {
  const double median = row.summary->median / scale;
  std::optional<Interval> interval = row.summary->interval;
  if (interval) interval = known_width(row.summary->median, *interval, true, interval->high != row.censored_at_s);
  if (interval && interval->high > interval->low)
    return exponent_for_interval(median, interval->low / scale, interval->high / scale);
  return std::max(exponent_without_interval(median), input_exponent(row, scale));
}

std::string limit_cell(const Table& table, const Row& row) {
  const double limit = *row.censored_at_s / seconds_per_unit(table);
  return ">" + round_at(limit, std::max(exponent_without_interval(limit), last_exponent(limit)));
}

/// A number of the row's summary, with the row's digits; `>` where it is the limit that censored runs hit.
std::string summary_cell(const Table& table, const Row& row, double value) {
  if (row.censored_at_s && value == *row.censored_at_s) return limit_cell(table, row);
  const double scale = seconds_per_unit(table);
  return round_at(value / scale, metric_exponent(row, scale));
}

template <double Summary::*kMember>
std::string summary_column(const Table& table, const Row& row, const CellStyle&) {
  return row.summary ? summary_cell(table, row, (*row.summary).*kMember) : kAbsent;
}

std::string median_column(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary && row.censored_at_s) return limit_cell(table, row);
  return summary_column<&Summary::median>(table, row, style);
}

template <double Interval::*kMember>
std::string interval_end_column(const Table& table, const Row& row, const CellStyle&) {
  if (!row.summary || !row.summary->interval) return kAbsent;
  return summary_cell(table, row, (*row.summary->interval).*kMember);
}

std::string with_coverage(const std::string& low, const std::string& high, double coverage) {
  return fmt::format("[{}, {}] {:.1f} %", low, high, 100 * coverage);
}

std::string interval_column(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.summary || !row.summary->interval) return kAbsent;
  return with_coverage(interval_end_column<&Interval::low>(table, row, style),
                       interval_end_column<&Interval::high>(table, row, style), row.summary->interval->coverage);
}

std::string coverage_column(const Table&, const Row& row, const CellStyle&) {
  return row.summary && row.summary->interval ? fmt::format("{:.4f}", row.summary->interval->coverage) : kAbsent;
}

/// The speedup's interval times `factor`, with the width that is known of it.
std::optional<Interval> ratio_width(const Row& row, double factor) {
  if (!row.speedup->interval) return std::nullopt;
  const Interval& interval = *row.speedup->interval;
  const Interval known = known_width(row.speedup->value, interval, interval.low > 0, true);
  return Interval{known.low * factor, known.high * factor, known.coverage};
}

std::string ratio_cell(const Row& row, double value) {
  const int exponent = exponent_for_ratio(row.speedup->value, ratio_width(row, 1));
  return value > 0 && value < 0.005 ? "<0.01" : round_at(value, exponent);
}

std::string speedup_column(const Table&, const Row& row, const CellStyle&) {
  if (row.speedup) return ratio_cell(row, row.speedup->value);
  if (!row.speedup_below) return kAbsent;
  // Rounded up: below it is what is known.
  return "<" + round_at(std::ceil(*row.speedup_below * 100 - 1e-9) / 100, -2);
}

template <double Interval::*kMember>
std::string speedup_end_column(const Table&, const Row& row, const CellStyle&) {
  if (!row.speedup || !row.speedup->interval) return kAbsent;
  return ratio_cell(row, (*row.speedup->interval).*kMember);
}

std::string speedup_interval_column(const Table& table, const Row& row, const CellStyle& style) {
  if (!row.speedup || !row.speedup->interval) return kAbsent;
  return with_coverage(speedup_end_column<&Interval::low>(table, row, style),
                       speedup_end_column<&Interval::high>(table, row, style), row.speedup->interval->coverage);
}

std::string plain_ratio(const std::optional<double>& value) {
  return value ? round_at(*value, exponent_for_ratio(*value, std::nullopt)) : kAbsent;
}

std::string medians_column(const Table&, const Row& row, const CellStyle&) { return plain_ratio(row.ratio_of_medians); }

/// With the digits of the speedup's interval, which shrinks as the efficiency does.
std::string efficiency_column(const Table&, const Row& row, const CellStyle&) {
  if (!row.efficiency) return kAbsent;
  if (!row.speedup || !row.speedup->interval || row.speedup->value <= 0) return plain_ratio(row.efficiency);
  const double factor = *row.efficiency / row.speedup->value;
  return round_at(*row.efficiency, exponent_for_ratio(*row.efficiency, ratio_width(row, factor)));
}

std::string list_outcomes(const Table&, const Row& row, const CellStyle& style) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : row.outcomes) parts.push_back(fmt::format("{} {}", count, to_string(state)));
  return parts.empty() ? kAbsent : join(parts, style.list_separator);
}

std::string list_warnings(const Table&, const Row& row, const CellStyle& style) {
  return row.warnings.empty() ? kAbsent : join(row.warnings, style.list_separator);
}

std::string gpus_column(const Table&, const Row& row, const CellStyle&) { return fmt::format("{}", row.gpus); }
std::string n_column(const Table&, const Row& row, const CellStyle&) { return fmt::format("{}", row.n); }
std::string train_loss_column(const Table&, const Row& row, const CellStyle&) { return three_digits(row.train_loss); }
std::string validation_loss_column(const Table&, const Row& row, const CellStyle&) { return three_digits(row.validation_loss); }
std::string karp_flatt_column(const Table&, const Row& row, const CellStyle&) { return three_digits(row.karp_flatt); }
std::string config_id_column(const Table&, const Row& row, const CellStyle&) { return row.config_id; }

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Column& column : all_columns()) names.emplace_back(column.name);
  return names;
}

}  // namespace

const std::vector<Column>& all_columns() {
  static const std::vector<Column> kColumns = {
      {"gpus", "gpus", true, false, gpus_column},
      {"n", "n", true, false, n_column},
      {"median", "median", true, false, median_column},
      {"interval", "interval", true, false, interval_column},
      {"speedup", "speedup", true, true, speedup_column},
      {"speedup_interval", "speedup interval", true, true, speedup_interval_column},
      {"efficiency", "efficiency", true, true, efficiency_column},
      {"train_loss", "train loss", true, false, train_loss_column},
      {"validation_loss", "validation loss", true, false, validation_loss_column},
      {"outcomes", "outcomes", true, false, list_outcomes},
      {"warnings", "warnings", false, false, list_warnings},
      {"low", "low", false, false, interval_end_column<&Interval::low>},
      {"high", "high", false, false, interval_end_column<&Interval::high>},
      {"coverage", "coverage", false, false, coverage_column},
      {"q1", "q1", false, false, summary_column<&Summary::q1>},
      {"q3", "q3", false, false, summary_column<&Summary::q3>},
      {"min", "min", false, false, summary_column<&Summary::min>},
      {"max", "max", false, false, summary_column<&Summary::max>},
      {"speedup_low", "speedup low", false, true, speedup_end_column<&Interval::low>},
      {"speedup_high", "speedup high", false, true, speedup_end_column<&Interval::high>},
      {"ratio_of_medians", "ratio of medians", false, true, medians_column},
      {"karp_flatt", "Karp-Flatt", false, true, karp_flatt_column},
      {"config_id", "config_id", false, false, config_id_column},
  };
  return kColumns;
}

const Column* find_column(std::string_view name) {
  const auto& columns = all_columns();
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

void require_columns(const std::vector<std::string>& names, const std::vector<std::string>& axes) {
  std::vector<std::string> known = axes;
  const std::vector<std::string> others = column_names();
  known.insert(known.end(), others.begin(), others.end());
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw InputError(fmt::format("error: report.columns names `{}`, which is no axis and no column{}; there are: {}", name,
                                 did_you_mean(name, known), join(known, ", ")));
  }
}

}  // namespace hpcbench
