#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/executor_kind.hpp"
#include "base/text.hpp"
#include "report/looks.hpp"
#include "report/samples.hpp"
#include "stats/looks.hpp"

namespace hpcbench {

namespace {

/// Returns whether two runs of one repeat were in one allocation: an element of an array is a block's job.
bool in_one_allocation(const AttemptRecord& a, const AttemptRecord& b) {
  if (a.executor != b.executor) return false;
  if (executor_kind(a.executor).runs_here) return true;
  return a.batch && a.batch == b.batch && a.job && a.job == b.job;
}

double log_width(const Interval& interval) { return std::log(interval.high) - std::log(interval.low); }

/// Returns how many times wider the interval would be without the blocks; nullopt if one of the two intervals is unavailable.
std::optional<double> gain_of(const Sample& base, const Sample& sample, const Confidence& confidence) {
  if (!sample.row.speedup || !sample.row.speedup->interval || sample.row.counts.censored > 0) return std::nullopt;
  const auto apart = speedup(base.values, sample.values, confidence);
  if (!apart || !apart->interval || apart->interval->low <= 0 || sample.row.speedup->interval->low <= 0) return std::nullopt;
  const double within = log_width(*sample.row.speedup->interval);
  const double outside = log_width(*apart->interval);
  if (within <= 0 || outside <= 0) return std::nullopt;
  return outside / within;
}

std::string rows_text(long long count) { return counted(count, "row", "rows"); }

void note_gain(std::vector<double> gains, std::vector<std::string>& notes) {
  if (gains.empty()) return;
  const double gain = *median_of(gains);
  const auto [least, most] = std::minmax_element(gains.begin(), gains.end());
  const std::string range = gains.size() > 1 ? fmt::format(", {:.2g} to {:.2g}", *least, *most) : "";
  notes.push_back(fmt::format(
      "speedups compare runs of the same block: {} (median of {}{}), each with the coverage that it reaches",
      gain >= 1
          ? fmt::format("the intervals of independent runs would be {:.2g} times as wide", gain)
          : fmt::format("that gained nothing here, the intervals of independent runs would be {:.2g} times as wide", gain),
      rows_text(static_cast<long long>(gains.size())), range));
}

}  // namespace

std::pair<std::vector<double>, std::vector<double>> complete_blocks(const Sample& base, const Sample& sample,
                                                                    const ReportSettings& settings) {
  std::pair<std::vector<double>, std::vector<double>> blocks;
  for (const auto& [b, i] : paired_runs(base, sample, settings)) {
    blocks.first.push_back(base.values[b]);
    blocks.second.push_back(sample.values[i]);
  }
  return blocks;
}

std::vector<std::pair<std::size_t, std::size_t>> paired_runs(const Sample& base, const Sample& sample,
                                                             const ReportSettings& settings) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::size_t b = 0;
  for (std::size_t i = 0; i < sample.measured.size(); ++i) {
    const RunName run = sample.measured[i]->key.run;
    while (b < base.measured.size() && base.measured[b]->key.run < run) ++b;
    if (b == base.measured.size() || base.measured[b]->key.run != run) continue;
    if (settings.in_blocks && !in_one_allocation(*base.measured[b], *sample.measured[i])) continue;
    pairs.emplace_back(b, i);
  }
  return pairs;
}

void note_blocks(const std::vector<Sample>& samples, const ReportSettings& settings, std::vector<std::string>& notes) {
  if (!settings.in_blocks || !settings.paired) return;
  std::vector<double> gains;
  long long apart = 0;
  long long broken = 0;
  std::size_t unpaired = 0;
  for (const Sample& sample : samples) {
    if (!sample.baseline || sample.row.is_baseline || !sample.row.speedup || !sample.row.statistic.empty()) continue;
    const Sample& base = samples[*sample.baseline];
    const std::size_t pairs = complete_blocks(base, sample, settings).second.size();
    if (pairs == 0) {
      ++apart;
      continue;
    }
    if (pairs < sample.values.size()) {
      ++broken;
      unpaired += sample.values.size() - pairs;
    }
    if (const auto gain = gain_of(base, sample, confidence_of(settings))) gains.push_back(*gain);
  }
  note_gain(std::move(gains), notes);
  if (broken > 0) {
    notes.push_back(
        fmt::format("without a run of the baseline in the same allocation, and so in no pair: {} of {}; where an "
                    "allocation ends early, the rest of its block runs in another",
                    counted(static_cast<long long>(unpaired), "run", "runs"), rows_text(broken)));
  }
  if (apart > 0) {
    notes.push_back(
        fmt::format("{} shared no allocation with the baseline: speedups there compare independent runs, with the "
                    "rank-sum interval",
                    rows_text(apart)));
  }
}

}  // namespace hpcbench
