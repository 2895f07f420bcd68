#include "report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/cells.hpp"
#include "report/digits.hpp"

namespace hpcbench {
namespace {

template <auto Row::*kMember>
std::string digits_cell(const Table&, const Row& row, const CellStyle&) {
  return three_digits(row.*kMember);
}

/// Published numbers stand as they were published.
template <std::optional<double> Row::*kMember>
std::string written_cell(const Table&, const Row& row, const CellStyle&) {
  const std::optional<double>& value = row.*kMember;
  return value && row.source == "imported" ? written_text(row, *value) : three_digits(value);
}

template <std::optional<double> Row::*kMember>
std::string rate_cell(const Table& table, const Row& row, const CellStyle& style) {
  return (row.rates_written ? written_cell<kMember> : digits_cell<kMember>)(table, row, style);
}

template <auto Row::*kMember>
std::string whole_cell(const Table&, const Row& row, const CellStyle&) {
  return fmt::format("{}", row.*kMember);
}

std::string best_epoch_cell(const Table&, const Row& row, const CellStyle&) {
  return row.best_epoch ? fmt::format("{}", *row.best_epoch) : kAbsentCell;
}
std::string nodes_seen_cell(const Table&, const Row& row, const CellStyle&) {
  return row.nodes.empty() ? kAbsentCell : fmt::format("{}", row.nodes.size());
}
std::string text_or_absent(const std::string& text) { return text.empty() ? kAbsentCell : text; }
std::string warnings_cell(const Table&, const Row& row, const CellStyle& style) {
  return text_or_absent(join(row.warnings, style.list_separator));
}
std::string source_cell(const Table&, const Row& row, const CellStyle&) { return text_or_absent(row.source); }
std::string statistic_cell(const Table&, const Row& row, const CellStyle&) { return text_or_absent(row.statistic); }
std::string config_id_cell(const Table&, const Row& row, const CellStyle&) { return row.config_id; }

template <auto Row::*kMember>
std::optional<double> number_of(const Row& row) {
  return row.*kMember;
}
template <double Summary::*kMember>
std::optional<double> summary_number(const Row& row) {
  if (!row.summary || !row.statistic.empty() || !std::isfinite((*row.summary).*kMember)) return std::nullopt;
  return (*row.summary).*kMember;
}
std::optional<double> median_number(const Row& row) { return row.summary ? row.summary->median : row.censored_at_s; }
template <double Interval::*kMember>
std::optional<double> interval_number(const Row& row) {
  return row.summary && row.summary->interval ? std::optional((*row.summary->interval).*kMember) : std::nullopt;
}
std::optional<double> nodes_seen_number(const Row& row) {
  return row.nodes.empty() ? std::nullopt : std::optional(static_cast<double>(row.nodes.size()));
}
std::optional<double> speedup_number(const Row& row) { return row.speedup ? row.speedup->value : row.speedup_below; }
template <double Interval::*kMember>
std::optional<double> speedup_end_number(const Row& row) {
  return row.speedup && row.speedup->interval ? std::optional((*row.speedup->interval).*kMember) : std::nullopt;
}

std::string scale_cell(const Table&, const Row& row, const CellStyle&) {
  return row.size == 0 ? kAbsentCell : std::to_string(row.size);
}

/// As a string for InputError: what a column can be.
std::vector<std::string> known_names(const std::vector<std::string>& axes, const std::vector<std::string>& metrics) {
  std::vector<std::string> known = axes;
  for (const Column& column : all_columns()) known.emplace_back(column.name);
  known.insert(known.end(), metrics.begin(), metrics.end());
  return known;
}

bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

CellStyle cell_style(const Table& table, std::string_view list_separator) {
  return {list_separator, published_exponent_of(table)};
}

const std::vector<Column>& all_columns() {
  static const std::vector<Column> kColumns = {
      {"gpus", "gpus", true, false, whole_cell<&Row::gpus>, number_of<&Row::gpus>},
      {"scale", "scale", false, false, scale_cell, number_of<&Row::size>},
      {"n", "n", true, false, whole_cell<&Row::n>, number_of<&Row::n>},
      {"median", "median", true, false, median_cell, median_number},
      {"interval", "interval", true, false, interval_cell, interval_number<&Interval::low>},
      {"speedup", "speedup", true, true, speedup_cell, speedup_number},
      {"speedup_interval", "speedup interval", true, true, speedup_interval_cell, speedup_end_number<&Interval::low>},
      {"efficiency", "efficiency", true, true, efficiency_cell, number_of<&Row::efficiency>},
      {"train_loss", "train loss", true, false, written_cell<&Row::train_loss>, number_of<&Row::train_loss>},
      {"validation_loss", "validation loss", true, false, written_cell<&Row::validation_loss>,
       number_of<&Row::validation_loss>},
      {"nodes_seen", "nodes seen", true, false, nodes_seen_cell, nodes_seen_number},
      {"outcomes", "outcomes", true, false, outcomes_cell},
      {"set_aside", "set aside", false, false, set_aside_cell},
      {"warnings", "warnings", false, false, warnings_cell},
      {"median_with_interval", "median", false, false, median_with_interval_cell, median_number},
      {"speedup_with_interval", "speedup", false, true, speedup_with_interval_cell, speedup_number},
      {"low", "low", false, false, low_cell, interval_number<&Interval::low>},
      {"high", "high", false, false, high_cell, interval_number<&Interval::high>},
      {"coverage", "coverage", false, false, coverage_cell, interval_number<&Interval::coverage>},
      {"q1", "q1", false, false, q1_cell, summary_number<&Summary::q1>},
      {"q3", "q3", false, false, q3_cell, summary_number<&Summary::q3>},
      {"min", "min", false, false, min_cell, summary_number<&Summary::min>},
      {"max", "max", false, false, max_cell, summary_number<&Summary::max>},
      {"speedup_low", "speedup low", false, true, speedup_low_cell, speedup_end_number<&Interval::low>},
      {"speedup_high", "speedup high", false, true, speedup_high_cell, speedup_end_number<&Interval::high>},
      {"ratio_of_medians", "ratio of medians", false, true, ratio_of_medians_cell, number_of<&Row::ratio_of_medians>},
      {"time_saved", "time saved", false, true, time_saved_cell, number_of<&Row::ratio_of_medians>},
      {"karp_flatt", "Karp-Flatt", false, true, digits_cell<&Row::karp_flatt>, number_of<&Row::karp_flatt>},
      {"samples_per_s", "samples/s", false, false, rate_cell<&Row::samples_per_s>, number_of<&Row::samples_per_s>},
      {"tokens_per_s", "tokens/s", false, false, rate_cell<&Row::tokens_per_s>, number_of<&Row::tokens_per_s>},
      {"gpu_hours", "GPU-hours", false, false, digits_cell<&Row::gpu_hours>, number_of<&Row::gpu_hours>},
      {"mfu", "MFU", false, false, digits_cell<&Row::mfu>, number_of<&Row::mfu>},
      {"imbalance", "imbalance", false, false, digits_cell<&Row::imbalance>, number_of<&Row::imbalance>},
      {"phases", "phases", false, false, phases_cell},
      {"best_epoch", "best epoch", false, false, best_epoch_cell, number_of<&Row::best_epoch>},
      {"generalisation_gap", "generalisation gap", false, false, digits_cell<&Row::generalisation_gap>,
       number_of<&Row::generalisation_gap>},
      {"overfits_from", "overfits from epoch", false, false, overfits_from_cell, number_of<&Row::overfits_from>},
      {"time_to_target", "time to target", false, false, time_to_target_cell, number_of<&Row::time_to_target_s>},
      {"source", "source", false, false, source_cell},
      {"statistic", "statistic", false, false, statistic_cell},
      {"config_id", "config_id", false, false, config_id_cell},
  };
  return kColumns;
}

const Column* find_column(std::string_view name, std::string_view scale_by) {
  const auto& columns = all_columns();
  const auto has_name = [&](std::string_view wanted) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& each) { return each.name == wanted; });
    return found == columns.end() ? nullptr : &*found;
  };
  const Column* const named = has_name(name);
  return named != nullptr ? named : has_name(column_of_heading(name, scale_by));
}

void require_columns(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                     const std::vector<std::string>& metrics, std::string_view scale_by) {
  for (const std::string& entry : names) {
    const ShownColumn column = parse_shown_column(entry);
    const bool is_column = column.kind == ShownColumn::Kind::column;
    if (!is_column && column.kind != ShownColumn::Kind::axis_or_column) continue;
    if (find_column(column.name, scale_by) != nullptr) continue;
    if (!is_column && (is_among(column.name, axes) || is_among(column.name, metrics))) continue;
    const std::vector<std::string> known = known_names(axes, metrics);
    throw InputError(fmt::format("error: `{}` is no axis, no column and no metric of these runs{}; there are: {}, fact:NAME",
                                 column.name, did_you_mean(column.name, known), join(known, ", ")));
  }
}

std::vector<std::string> metrics_among(const std::vector<std::string>& names, const std::vector<std::string>& axes,
                                       std::string_view scale_by) {
  std::vector<std::string> metrics;
  for (const std::string& entry : names) {
    const ShownColumn column = parse_shown_column(entry);
    const bool is_bare = column.kind == ShownColumn::Kind::axis_or_column && !is_among(column.name, axes) &&
                         find_column(column.name, scale_by) == nullptr;
    if (is_bare || column.kind == ShownColumn::Kind::metric) metrics.push_back(column.name);
  }
  return metrics;
}

}  // namespace hpcbench
