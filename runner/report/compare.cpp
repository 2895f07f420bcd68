#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "plan/baselines.hpp"
#include "plan/size_axes.hpp"
#include "report/looks.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

void note_missing(const std::vector<std::string>& missing, bool whole_lists, std::vector<std::string>& notes) {
  if (missing.empty()) return;
  notes.push_back(fmt::format("no baseline in the experiment equals {} on the other axes: no speedup there",
                              list_some(missing, whole_lists)));
}

/// Notes axes that vary together with the number of gpus: speedups then compare rows of different work.
void note_grown(std::vector<std::string> grown, const Experiment& experiment, std::vector<std::string>& notes) {
  std::erase_if(grown, [&](const std::string& axis) { return is_layout(axis) || axis == to_string(experiment.scale_by()); });
  if (experiment.report.scaling == Scaling::weak || grown.empty()) return;
  notes.push_back(
      fmt::format("{} var{} together with the number of {}: speedups compare rows of different {}; where the work "
                  "grows with them, set `report: {{scaling: weak}}`",
                  join(grown, ", "), grown.size() == 1 ? "ies" : "y", to_string(experiment.scale_by()), join(grown, ", ")));
}

bool all_positive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

/// Censored runs took longer than all others by an unknown amount: with infinity in their place every rank is right and the
/// upper bound holds. The point is given only if it is the same with the limit in their place.
std::optional<Ratio> censored_speedup(const Sample& base, const Sample& sample, const Confidence& confidence) {
  std::vector<double> endless = sample.values;
  std::vector<double> at_limit = sample.values;
  const auto censored = static_cast<std::size_t>(sample.row.counts.censored);
  endless.insert(endless.end(), censored, std::numeric_limits<double>::infinity());
  at_limit.insert(at_limit.end(), censored, *sample.row.censored_at_s);
  const auto ratio = speedup(base.values, endless, confidence);
  const auto bound = speedup(base.values, at_limit, confidence);
  return ratio && bound && ratio->value == bound->value ? ratio : std::nullopt;
}

/// Returns the row's number of gpus, ranks ... that the metric counts per; 0 if unknown.
double count_of(const Row& row, const MetricChoice& metric) {
  const std::string& unit = metric.kind.per;
  if (unit == "gpus") return row.gpus;
  if (unit == to_string(metric.scale_by)) return row.size;
  const Value* const nodes = unit == "nodes" ? find_binding(row.axes, "nodes") : nullptr;
  return nodes == nullptr ? 0 : nodes->number().value_or(0);
}

/// Returns the factor from a ratio of values to a ratio of whole runs: rates per GPU are multiplied by their numbers of GPUs.
std::optional<double> factor_of(const Row& base, const Row& row, const MetricChoice& metric) {
  if (metric.kind.per.empty()) return 1;
  const double ours = count_of(row, metric);
  const double theirs = count_of(base, metric);
  return ours > 0 && theirs > 0 ? std::optional(ours / theirs) : std::nullopt;
}

Ratio scaled(Ratio ratio, double factor) {
  if (factor == 1) return ratio;
  ratio.value *= factor;
  if (!ratio.interval) return ratio;
  ratio.interval->low *= factor;
  ratio.interval->high *= factor;
  ratio.resolved = ratio.interval->low > 1 || ratio.interval->high < 1;
  return ratio;
}

double ratio_of_values(double base, double value, const MetricChoice& metric) {
  return metric.kind.better == Better::higher ? value / base : base / value;
}

std::optional<Ratio> published_ratio(const Row& base, const Row& row, const MetricChoice& metric) {
  if (!base.summary || !row.summary || base.summary->median <= 0 || row.summary->median <= 0) return std::nullopt;
  return Ratio{ratio_of_values(base.summary->median, row.summary->median, metric), std::nullopt, std::nullopt};
}

std::optional<Ratio> speedup_of_all(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                    const ReportSettings& settings);

/// Returns the part of a sample that a comparison uses: its runs up to a look.
Sample up_to_look(const Sample& sample, int look) {
  Sample part;
  part.look = look;
  part.row.statistic = sample.row.statistic;
  part.row.summary = sample.row.summary;
  part.row.counts.censored = sample.row.counts.censored;
  part.row.censored_at_s = sample.row.censored_at_s;
  for (std::size_t i = 0; i < sample.measured.size(); ++i) {
    if (!part.counts(sample.measured[i]->key.run)) continue;
    part.measured.push_back(sample.measured[i]);
    part.values.push_back(sample.values[i]);
  }
  return part;
}

/// Compares equal blocks on both sides: more runs of a baseline for other rows change nothing here.
std::optional<Ratio> speedup_at_look(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                     const ReportSettings& settings) {
  const int look = std::min(base.look, sample.look);
  const bool cut = base.look != look || sample.look != look;
  if (cut && look > 0 && sample.row.counts.censored > 0) return std::nullopt;  // which of them are within the look is unknown
  std::optional<Ratio> ratio = cut && look > 0
                                   ? speedup_of_all(up_to_look(base, look), up_to_look(sample, look), metric, settings)
                                   : speedup_of_all(base, sample, metric, settings);
  if (ratio && look == 0) {
    ratio->interval.reset();
    ratio->resolved.reset();
  }
  return ratio;
}

void fill_in_comparison(Sample& sample, const Sample& base, const MetricChoice& metric, const ReportSettings& settings) {
  Row& row = sample.row;
  if (row.is_baseline) {
    if (row.summary) {
      row.speedup = Ratio{1, std::nullopt, std::nullopt};
      row.ratio_of_medians = 1;
      if (metric.kind.scales) row.efficiency = 1;
    }
    return;
  }
  if (!base.row.summary || base.row.summary->median <= 0) return;
  const double base_median = base.row.summary->median;
  const std::optional<double> factor = factor_of(base.row, row, metric);
  if (row.summary && row.summary->median > 0 && factor)
    row.ratio_of_medians = ratio_of_values(base_median, row.summary->median, metric) * *factor;
  if (!row.summary && row.censored_at_s) row.speedup_below = base_median / *row.censored_at_s;
  row.speedup = estimate_speedup(base, sample, metric, settings);
  if (!row.speedup || !metric.kind.scales) return;
  const bool is_flat = metric.is_flat(settings.scaling);
  if (is_flat) row.efficiency = row.speedup->value;
  if (is_flat || row.size == 0 || base.row.size == 0) return;
  row.efficiency = efficiency(row.speedup->value, row.size, base.row.size);
  if (settings.scaling == Scaling::weak) return;
  row.karp_flatt = karp_flatt(row.speedup->value, row.size, base.row.size);
}

/// If every row is as large as its baseline, the efficiency would equal the speedup, and exceed 1 for a faster program. The
/// same holds for the number of threads on an axis that `scale_by` does not count.
void drop_efficiency_of_one_size(std::vector<Sample>& samples) {
  const auto differs = [&](const Sample& sample) {
    return sample.baseline && sample.row.size != samples[*sample.baseline].row.size;
  };
  if (std::any_of(samples.begin(), samples.end(), differs)) return;
  for (Sample& sample : samples) sample.row.efficiency.reset();
}

}  // namespace

std::optional<Ratio> estimate_speedup(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                      const ReportSettings& settings) {
  const std::optional<double> factor = factor_of(base.row, sample.row, metric);
  if (!factor) return std::nullopt;
  const std::optional<Ratio> ratio =
      settings.looks.empty() ? speedup_of_all(base, sample, metric, settings) : speedup_at_look(base, sample, metric, settings);
  return ratio ? std::optional(scaled(*ratio, *factor)) : std::nullopt;
}

namespace {

std::optional<Ratio> speedup_of_all(const Sample& base, const Sample& sample, const MetricChoice& metric,
                                    const ReportSettings& settings) {
  // Published statistics are no runs: only their ratio is known.
  if (!base.row.statistic.empty() || !sample.row.statistic.empty()) return published_ratio(base.row, sample.row, metric);
  if (base.row.counts.censored > 0 || !all_positive(base.values) || !all_positive(sample.values)) return std::nullopt;
  if (sample.row.counts.censored > 0) {
    if (settings.paired || !sample.row.summary) return std::nullopt;
    return censored_speedup(base, sample, confidence_of(settings));
  }
  const Confidence confidence = confidence_of(settings);
  const bool is_higher = metric.kind.better == Better::higher;
  const auto [base_values, values] =
      settings.paired ? complete_blocks(base, sample, settings) : std::pair<std::vector<double>, std::vector<double>>();
  if (settings.paired && !(settings.in_blocks && values.empty()))
    return is_higher ? paired_speedup(values, base_values, confidence) : paired_speedup(base_values, values, confidence);
  return is_higher ? speedup(sample.values, base.values, confidence) : speedup(base.values, sample.values, confidence);
}

/// Notes speedups whose two sides are different statistics: a mean must not be read as a median.
void note_mixed_statistics(const std::vector<Sample>& samples, const Experiment& experiment, bool whole_lists,
                           std::vector<std::string>& notes) {
  const auto name = [](const Sample& sample) { return sample.row.statistic.empty() ? "median" : sample.row.statistic; };
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> rows;
  for (const Sample& sample : samples) {
    if (!sample.baseline || !sample.row.speedup) continue;
    const std::pair<std::string, std::string> sides(name(samples[*sample.baseline]), name(sample));
    if (sides.first != sides.second) rows[sides].push_back("`" + describe(experiment.shown_axes(sample.row.axes)) + "`");
  }
  for (const auto& [sides, points] : rows) {
    notes.push_back(fmt::format("the speedup of {} compares the {} of the baseline with the {} of the row",
                                list_some(points, whole_lists), sides.first, sides.second));
  }
}

}  // namespace

void check_baselines(const Experiment& experiment, const Plan& plan) { Baselines(experiment, plan).require_good(); }

void compare_with_baselines(std::vector<Sample>& samples, const MetricChoice& metric, const Experiment& experiment,
                            const Plan& plan, bool whole_lists, std::vector<std::string>& notes) {
  const Baselines baselines(experiment, plan);
  baselines.require_good();
  for (const std::size_t index : baselines.indices()) samples[index].row.is_baseline = true;
  std::vector<std::string> missing;
  std::vector<std::string> unmeasured;
  std::vector<std::string> not_positive;
  for (Sample& sample : samples) {
    const std::optional<std::size_t> found = baselines.of(sample.row.axes);
    if (!found) {
      missing.push_back("`" + describe(experiment.shown_axes(sample.row.axes)) + "`");
      continue;
    }
    sample.baseline = *found;
    if (!all_positive(sample.values)) not_positive.push_back("`" + describe(experiment.shown_axes(sample.row.axes)) + "`");
    const Sample& base = samples[*found];
    if (sample.row.is_baseline && !base.row.summary)
      unmeasured.push_back("`" + describe(experiment.shown_axes(base.row.axes)) + "`");
    fill_in_comparison(sample, base, metric, experiment.report);
  }
  drop_efficiency_of_one_size(samples);
  note_mixed_statistics(samples, experiment, whole_lists, notes);
  note_missing(missing, whole_lists, notes);
  note_blocks(samples, experiment.report, notes);
  note_grown(baselines.sizes(), experiment, notes);
  if (baselines.of_each_size()) {
    notes.push_back(fmt::format("several configurations match `baseline`: each row is compared with the one of equal nodes{}",
                                experiment.has_gpus ? ", gpus and ranks" : " and ranks"));
  }
  if (!not_positive.empty()) {
    notes.push_back(fmt::format("runs of {} have values of 0 or less: no speedup of these rows, or against them",
                                list_some(not_positive, whole_lists)));
  }
  if (!unmeasured.empty()) {
    notes.push_back(
        fmt::format("the baseline {} has no median yet: no speedup against it", list_some(unmeasured, whole_lists)));
  }
}

}  // namespace hpcbench
