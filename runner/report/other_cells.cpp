#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/cells.hpp"
#include "report/digits.hpp"

namespace hpcbench {

std::string outcomes_cell(const Table&, const Row& row, const CellStyle& style) {
  std::vector<std::string> parts;
  for (auto [state, count] : row.counts.outcomes) {
    if (state == State::succeeded && !row.statistic.empty()) {  // a value of n runs is not one run
      const auto published = static_cast<int>(
          std::count_if(row.runs.begin(), row.runs.end(), [](const RunValue& run) { return run.value.has_value(); }));
      parts.push_back(fmt::format("{} published", published));
      count -= published;
      if (count <= 0) continue;
    }
    parts.push_back(fmt::format("{} {}", count, shown_name(state)));
    if (state == State::succeeded && row.counts.nan > 0) parts.back() += fmt::format(" ({} nan)", row.counts.nan);
  }
  if (const int count = row.runs_set_aside(); count > 0) parts.push_back(fmt::format("{} set aside", count));
  return parts.empty() ? kAbsentCell : join(parts, style.list_separator);
}

std::string set_aside_cell(const Table&, const Row& row, const CellStyle& style) {
  std::vector<std::string> parts;
  for (const RunValue& run : row.set_aside)
    parts.push_back(fmt::format("{}/a{}: {}", to_string(run.run), run.attempt, run.reason));
  return parts.empty() ? kAbsentCell : join(parts, style.list_separator);
}

std::string phases_cell(const Table&, const Row& row, const CellStyle& style) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<double>& seconds) {
    if (seconds) parts.push_back(fmt::format("{} {} s", name, three_digits(seconds)));
  };
  add("setup", row.times.phases.setup_s);
  add("data", row.times.phases.data_s);
  add("train", row.times.phases.train_s);
  add("eval", row.times.phases.eval_s);
  add("checkpoint", row.times.phases.checkpoint_s);
  add("communication", row.times.phases.communication_s);
  return parts.empty() ? kAbsentCell : join(parts, style.list_separator);
}

std::string fact_cell(const Row& row, const std::string& name) {
  const auto found = row.facts.find(name);
  return found == row.facts.end() || found->second.empty() ? kAbsentCell : found->second;
}

std::string written_text(const Row& row, double value) {
  const int usual = exponent_without_interval(value);
  const int written = last_exponent(value);
  if (row.source == "imported") return round_at(value, std::max(written, std::min(-2, usual)));
  return round_at(value, std::max(usual, written));
}

std::string metric_of_row_cell(const Row& row, const std::string& name) {
  const auto found = row.metrics.find(name);
  return found == row.metrics.end() ? kAbsentCell : written_text(row, found->second);
}

}  // namespace hpcbench
