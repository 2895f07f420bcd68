#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/points.hpp"
#include "report/samples.hpp"
#include "report/size_axes.hpp"

namespace hpcbench {
namespace {

[[noreturn]] void refuse_ambiguous(const Experiment& experiment, const Bindings& first, const Bindings& second) {
  throw InputError(
      fmt::format("error: {}: two configurations are a baseline for the same points: `{}` and `{}`; name in `baseline` what "
                  "tells them apart",
                  experiment.path, describe(first), describe(second)));
}

[[noreturn]] void refuse_no_baseline(const Experiment& experiment) {
  throw InputError(fmt::format(
      "error: {}: no configuration matches `baseline`; give it values that the matrix has, or leave it out", experiment.path));
}

void note_missing(const std::vector<std::string>& missing, std::vector<std::string>& notes) {
  if (missing.empty()) return;
  notes.push_back(
      fmt::format("no baseline in the experiment equals {} on the other axes: no speedup there", list_some(missing)));
}

/// Where the work is to be the same, whoever reads a speedup should know what is not.
void note_grown(const std::vector<std::string>& sizes, const Experiment& experiment, std::vector<std::string>& notes) {
  if (experiment.report.scaling == Scaling::weak || sizes.size() < 3) return;
  const std::vector<std::string> grown(sizes.begin() + 2, sizes.end());
  notes.push_back(
      fmt::format("{} var{} together with the number of gpus: speedups compare rows of different {}; where the work "
                  "grows with them, say `report: {{scaling: weak}}`",
                  join(grown, ", "), grown.size() == 1 ? "ies" : "y", join(grown, ", ")));
}

bool all_positive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

/// Both sides of the blocks (repeat k of each) in which both have a value.
std::pair<std::vector<double>, std::vector<double>> complete_blocks(const Sample& base, const Sample& sample) {
  std::pair<std::vector<double>, std::vector<double>> blocks;
  std::size_t b = 0;
  for (std::size_t i = 0; i < sample.measured.size(); ++i) {
    const RunName run = sample.measured[i]->key.run;
    while (b < base.measured.size() && base.measured[b]->key.run < run) ++b;
    if (b == base.measured.size() || base.measured[b]->key.run != run) continue;
    blocks.first.push_back(base.values[b]);
    blocks.second.push_back(sample.values[i]);
  }
  return blocks;
}

/// Censored runs took longer than all others, how much longer nobody knows: with infinity for them every rank is right and
/// the upper bound holds. The point is given only where it is the same with the limit in their place.
std::optional<Ratio> censored_speedup(const Sample& base, const Sample& sample, double confidence) {
  std::vector<double> endless = sample.values;
  std::vector<double> at_limit = sample.values;
  const auto censored = static_cast<std::size_t>(sample.row.censored);
  endless.insert(endless.end(), censored, std::numeric_limits<double>::infinity());
  at_limit.insert(at_limit.end(), censored, *sample.row.censored_at_s);
  const auto ratio = speedup(base.values, endless, confidence);
  const auto bound = speedup(base.values, at_limit, confidence);
  return ratio && bound && ratio->value == bound->value ? ratio : std::nullopt;
}

std::optional<Ratio> published_ratio(const Row& base, const Row& row) {
  if (!base.summary || !row.summary || base.summary->median <= 0 || row.summary->median <= 0) return std::nullopt;
  return Ratio{base.summary->median / row.summary->median, std::nullopt, std::nullopt};
}

void fill_in_comparison(Sample& sample, const Sample& base, const ReportSettings& settings) {
  Row& row = sample.row;
  if (row.is_baseline) {
    if (row.summary) {
      row.speedup = Ratio{1, std::nullopt, std::nullopt};
      row.ratio_of_medians = row.efficiency = 1;
    }
    return;
  }
  if (!base.row.summary || base.row.summary->median <= 0) return;
  const double base_median = base.row.summary->median;
  if (row.summary && row.summary->median > 0) row.ratio_of_medians = base_median / row.summary->median;
  if (!row.summary && row.censored_at_s) row.speedup_below = base_median / *row.censored_at_s;
  row.speedup = estimate_speedup(base, sample, settings);
  if (!row.speedup) return;
  const bool weak = settings.scaling == Scaling::weak;
  row.efficiency = weak ? row.speedup->value : efficiency(row.speedup->value, row.gpus, base.row.gpus);
  if (!weak) row.karp_flatt = karp_flatt(row.speedup->value, row.gpus, base.row.gpus);
}

}  // namespace

std::optional<Ratio> estimate_speedup(const Sample& base, const Sample& sample, const ReportSettings& settings) {
  // Published statistics are no runs: nothing is known but the ratio of the two.
  if (!base.row.statistic.empty() || !sample.row.statistic.empty()) return published_ratio(base.row, sample.row);
  if (base.row.censored > 0 || !all_positive(base.values) || !all_positive(sample.values)) return std::nullopt;
  if (sample.row.censored > 0) {
    if (settings.paired || !sample.row.summary) return std::nullopt;
    return censored_speedup(base, sample, settings.confidence);
  }
  if (!settings.paired) return speedup(base.values, sample.values, settings.confidence);
  const auto [base_values, values] = complete_blocks(base, sample);
  return paired_speedup(base_values, values, settings.confidence);
}

void check_baselines(const Experiment& experiment, const Plan& plan) {
  const PointCondition is_baseline(experiment.baseline, plan.axes);
  const std::vector<std::string> sizes = compared_sizes(experiment, plan);
  std::unordered_map<std::string, const Configuration*> baselines;
  for (const Configuration& configuration : plan.configurations) {
    if (!is_baseline.matches(configuration.values)) continue;
    const Bindings axes = plan.bindings(configuration);
    const auto [other, is_new] = baselines.emplace(comparison_key(axes, experiment.baseline, sizes), &configuration);
    if (!is_new) refuse_ambiguous(experiment, plan.bindings(*other->second), axes);
  }
  if (baselines.empty()) refuse_no_baseline(experiment);
}

void compare_with_baselines(std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan,
                            std::vector<std::string>& notes) {
  const std::vector<std::string> sizes = compared_sizes(experiment, plan);
  std::unordered_map<std::string, std::size_t> baselines;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (!matches(experiment.baseline, samples[i].row.axes)) continue;
    const auto [other, is_new] = baselines.emplace(comparison_key(samples[i].row.axes, experiment.baseline, sizes), i);
    if (!is_new) refuse_ambiguous(experiment, samples[other->second].row.axes, samples[i].row.axes);
    samples[i].row.is_baseline = true;
  }
  if (baselines.empty()) refuse_no_baseline(experiment);
  std::vector<std::string> missing;
  std::vector<std::string> unmeasured;
  for (Sample& sample : samples) {
    const auto found = baselines.find(comparison_key(sample.row.axes, experiment.baseline, sizes));
    if (found == baselines.end()) {
      missing.push_back("`" + describe(sample.row.axes) + "`");
      continue;
    }
    sample.baseline = found->second;
    const Sample& base = samples[found->second];
    if (sample.row.is_baseline && !base.row.summary) unmeasured.push_back("`" + describe(base.row.axes) + "`");
    fill_in_comparison(sample, base, experiment.report);
  }
  note_missing(missing, notes);
  note_grown(sizes, experiment, notes);
  if (!unmeasured.empty())
    notes.push_back(fmt::format("the baseline {} has no median yet: no speedup against it", list_some(unmeasured)));
}

}  // namespace hpcbench
