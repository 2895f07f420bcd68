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

/// Published numbers keep their published digits.
std::string as_written(const Row& row, const std::optional<double>& value) {
  return value && row.source == "imported" ? written_text(row, *value) : three_digits(value);
}
std::string rate(const Row& row, const std::optional<double>& value) {
  return row.work.rates_written ? as_written(row, value) : three_digits(value);
}
std::string whole(const std::optional<long long>& value) { return value ? fmt::format("{}", *value) : kAbsentCell; }
std::string text_or_absent(const std::string& text) { return text.empty() ? kAbsentCell : text; }

std::optional<int> known_size(const Row& row) { return row.size == 0 ? std::nullopt : std::optional(row.size); }
std::optional<long long> nodes_seen(const Row& row) {
  return row.nodes.empty() ? std::nullopt : std::optional(static_cast<long long>(row.nodes.size()));
}
template <double Summary::*kMember>
std::optional<double> summary_number(const Row& row) {
  if (!row.summary || !row.statistic.empty() || !std::isfinite((*row.summary).*kMember)) return std::nullopt;
  return (*row.summary).*kMember;
}
template <double Interval::*kMember>
std::optional<double> interval_number(const Row& row) {
  return row.summary && row.summary->interval ? std::optional((*row.summary->interval).*kMember) : std::nullopt;
}
template <double Interval::*kMember>
std::optional<double> speedup_end_number(const Row& row) {
  return row.speedup && row.speedup->interval ? std::optional((*row.speedup->interval).*kMember) : std::nullopt;
}
std::optional<double> median_number(const Row& row) { return row.summary ? row.summary->median : row.censored_at_s; }
std::optional<double> speedup_number(const Row& row) { return row.speedup ? row.speedup->value : row.speedup_below; }

bool has_more_than_successes(const Row& row) {
  return row.counts.nan > 0 || !row.set_aside.empty() || row.counts.outcomes.all() > row.counts.outcomes.of(State::succeeded);
}

template <class Test>
bool any_row(const Table& table, const Test& test) {
  return std::any_of(table.rows.begin(), table.rows.end(), test);
}

/// Returns whether a column of size is shown: tables for people show the size once, in the unit of `scale_by`. `nodes` are an
/// axis.
bool shows_scale(const Table& table, ColumnPlace place) {
  if (place == kJson) return table.scale_by != "gpus";
  if (place == kCsvEnd) return table.scale_by != "gpus" && (table.has_gpus || table.scale_by != "nodes");
  const bool is_axis = std::find(table.columns.begin(), table.columns.end(), "ranks") != table.columns.end();
  return table.scale_by == "cores" || (table.scale_by == "ranks" && !is_axis);
}

/// Returns whether the table has values for a column of this place.
bool belongs_in(const Table& table, const Column& column, ColumnPlace place) {
  const bool for_people = place == kText || place == kPaper || place == kPaperEnd;
  if ((column.places & place) == 0) return false;
  if (for_people && (column.places & kOnlySpeedup) != 0 && !table.has_speedup) return false;
  if (column.name == "gpus") return place == kText ? table.scale_by == "gpus" : table.has_gpus;
  if (column.name == "gpu_hours") return table.has_gpus;
  if (column.name == "scale") return shows_scale(table, place);
  if (column.name == "statistic" && place != kJson)
    return place == kCsvEnd ? value_word(table) != "median" : value_word(table) == "value";
  if (column.name == "nodes_seen" && place == kText)  // a study on one machine has the same value everywhere
    return any_row(table, [](const Row& row) { return row.nodes_of_slurm; });
  if (column.name == "set_aside") return any_row(table, [](const Row& row) { return !row.set_aside.empty(); });
  if (column.name == "outcomes") return place != kPaperEnd || any_row(table, has_more_than_successes);
  if (column.name == "efficiency" && for_people) return has_efficiency(table);
  return true;
}

/// Returns whether tables for people show the column: the metric and the outcomes always, others if some row has a value.
bool is_worth_showing(const Table& table, const std::vector<Row>& rows, const Column& column) {
  if (column.name.starts_with("median") || column.name == "outcomes") return true;
  const CellStyle style = cell_style(table);
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return column.cell(table, row, style) != kAbsentCell; });
}

/// Returns the known columns as text for an InputError.
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

std::string Column::cell(const Table& table, const Row& row, const CellStyle& style) const {
  return print != nullptr ? print(table, row, style) : three_digits(number(row));
}

const std::vector<Column>& all_columns() {
  using R = const Row&;
  using T = const Table&;
  using S = const CellStyle&;
  using Number = std::optional<double>;
  static const std::vector<Column> kColumns = {
      {"gpus", "gpus", kText | kCsv | kJson, [](R row) -> Number { return row.gpus; },
       [](T, R row, S) { return whole(row.gpus); }},
      {"scale", "scale", kText | kCsvEnd | kJson, [](R row) -> Number { return known_size(row); },
       [](T, R row, S) { return whole(known_size(row)); }},
      {"n", "n", kText | kPaper | kCsv | kInner | kJson, [](R row) -> Number { return row.counts.n; },
       [](T, R row, S) { return whole(row.counts.n); }, nullptr, 7},
      {"median", "median", kText | kCsv | kInner | kJson, median_number, median_cell,
       [](JsonWriter& json, R row) { json.member("median", row.summary ? Number(row.summary->median) : std::nullopt); }},
      {"median_with_interval", "median", kPaper, median_number, median_with_interval_cell},
      {"q1", "q1", kJson, summary_number<&Summary::q1>, q1_cell},
      {"q3", "q3", kJson, summary_number<&Summary::q3>, q3_cell},
      {"min", "min", kJson, summary_number<&Summary::min>, min_cell},
      {"max", "max", kJson, summary_number<&Summary::max>, max_cell},
      {"interval", "interval", kText | kInner | kJson, interval_number<&Interval::low>, interval_cell, write_interval, 6},
      {"low", "low", kCsv, interval_number<&Interval::low>, low_cell},
      {"high", "high", kCsv, interval_number<&Interval::high>, high_cell},
      {"coverage", "coverage", kCsv, interval_number<&Interval::coverage>, coverage_cell},
      {"speedup", "speedup", kText | kCsv | kInner | kJson | kOnlySpeedup, speedup_number, speedup_cell, write_speedup},
      {"speedup_with_interval", "speedup", kPaper | kOnlySpeedup, speedup_number, speedup_with_interval_cell},
      {"speedup_interval", "speedup interval", kText | kInner | kOnlySpeedup, speedup_end_number<&Interval::low>,
       speedup_interval_cell, nullptr, 4},
      {"speedup_low", "speedup low", kCsv, speedup_end_number<&Interval::low>, speedup_low_cell},
      {"speedup_high", "speedup high", kCsv, speedup_end_number<&Interval::high>, speedup_high_cell},
      {"ratio_of_medians", "ratio of medians", kCsv | kJson, [](R row) { return row.ratio_of_medians; }, ratio_of_medians_cell},
      {"time_saved", "time saved", 0, [](R row) { return row.ratio_of_medians; }, time_saved_cell},
      {"efficiency", "efficiency", kText | kPaper | kCsv | kJson | kOnlySpeedup, [](R row) { return row.efficiency; },
       efficiency_cell, nullptr, 5},
      {"karp_flatt", "Karp-Flatt", kJson, [](R row) { return row.karp_flatt; }},
      {"train_loss", "train loss", kText | kCsv | kJson, [](R row) { return row.losses.train_loss; },
       [](T, R row, S) { return as_written(row, row.losses.train_loss); }, nullptr, 2},
      {"validation_loss", "validation loss", kText | kCsv | kJson, [](R row) { return row.losses.validation_loss; },
       [](T, R row, S) { return as_written(row, row.losses.validation_loss); }, nullptr, 3},
      {"nodes_seen", "nodes seen", kText | kCsv | kJson, [](R row) -> Number { return nodes_seen(row); },
       [](T, R row, S) { return whole(nodes_seen(row)); }, nullptr, 1},
      {"outcomes", "outcomes", kText | kPaperEnd | kCsv | kJson, nullptr, outcomes_cell, write_outcomes},
      {"set_aside", "set aside", kCsvEnd, nullptr, set_aside_cell},
      {"warnings", "warnings", kCsv, nullptr,
       [](T, R row, S style) { return text_or_absent(join(row.warnings, style.list_separator)); }},
      {"source", "source", kJson, nullptr, [](T, R row, S) { return text_or_absent(row.source); },
       [](JsonWriter& json, R row) { json.member("source", row.source); }},
      {"statistic", "statistic", kText | kPaper | kCsvEnd | kJson, nullptr,
       [](T, R row, S) { return text_or_absent(row.statistic); },
       [](JsonWriter& json, R row) { json.member("statistic", text_or_null(row.statistic)); }},
      {"phases", "phases", kJson, nullptr, phases_cell, write_phases},
      {"samples_per_s", "samples/s", kJson, [](R row) { return row.work.samples_per_s; },
       [](T, R row, S) { return rate(row, row.work.samples_per_s); }},
      {"tokens_per_s", "tokens/s", kJson, [](R row) { return row.work.tokens_per_s; },
       [](T, R row, S) { return rate(row, row.work.tokens_per_s); }},
      {"gpu_hours", "GPU-hours", kJson, [](R row) { return row.work.gpu_hours; }},
      {"mfu", "MFU", kJson, [](R row) { return row.work.mfu; }},
      {"imbalance", "imbalance", kJson, [](R row) { return row.times.imbalance; }},
      {"best_epoch", "best epoch", kJson, [](R row) -> Number { return row.losses.best_epoch; },
       [](T, R row, S) { return whole(row.losses.best_epoch); }},
      {"generalisation_gap", "generalisation gap", kJson, [](R row) { return row.losses.generalisation_gap; }},
      {"overfits_from", "overfits from epoch", kJson, [](R row) -> Number { return row.losses.overfits_from; },
       [](T, R row, S) { return whole(row.losses.overfits_from); }},
      {"time_to_target", "time to target", kJson, [](R row) { return row.losses.time_to_target_s; }, time_to_target_cell,
       [](JsonWriter& json, R row) { json.member("time_to_target_s", row.losses.time_to_target_s); }},
      {"config_id", "config_id", 0, nullptr, [](T, R row, S) { return row.config_id; }},
  };
  return kColumns;
}

std::vector<std::string> columns_in(const Table& table, ColumnPlace place) {
  const std::vector<Row>& rows = place == kInner ? table.inner_rows : table.rows;
  const bool needs_cell = place == kText || place == kPaper || place == kInner;
  std::vector<std::string> entries;
  for (const Column& column : all_columns()) {
    if (!belongs_in(table, column, place) || (needs_cell && !is_worth_showing(table, rows, column))) continue;
    entries.push_back("column:" + std::string(column.name));
  }
  return entries;
}

void write_columns(JsonWriter& json, const Table& table, const Row& row, std::string_view first, std::string_view last) {
  for (const Column *column = find_column(first), *end = find_column(last) + 1; column != end; ++column) {
    if (!belongs_in(table, *column, kJson)) continue;
    column->write != nullptr ? column->write(json, row) : static_cast<void>(json.member(column->name, column->number(row)));
  }
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
