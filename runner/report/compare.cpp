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
void note_grown(std::vector<std::string> grown, const Experiment& experiment, std::vector<std::string>& notes) {
  std::erase_if(grown, is_placement);
  if (experiment.report.scaling == Scaling::weak || grown.empty()) return;
  notes.push_back(
      fmt::format("{} var{} together with the number of {}: speedups compare rows of different {}; where the work "
                  "grows with them, say `report: {{scaling: weak}}`",
                  join(grown, ", "), grown.size() == 1 ? "ies" : "y", to_string(experiment.scale_by()), join(grown, ", ")));
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
  if (weak) row.efficiency = row.speedup->value;
  if (weak || row.size == 0 || base.row.size == 0) return;
  row.efficiency = efficiency(row.speedup->value, row.size, base.row.size);
  row.karp_flatt = karp_flatt(row.speedup->value, row.size, base.row.size);
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

namespace {

/// The baselines of a plan: one for the points that are alike but for what `baseline` names and their size, or one for each
/// size.
class Baselines {
 public:
  Baselines(const Experiment& experiment, const Plan& plan)
      : experiment_(experiment), sizes_(compared_sizes(experiment, plan)), matched_(sizes_) {
    std::erase_if(matched_, [&](const std::string& name) {
      return std::any_of(experiment.baseline.begin(), experiment.baseline.end(),
                         [&](const auto& clause) { return clause.first == name; });
    });
    const PointCondition is_baseline(experiment.baseline, plan.axes);
    for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
      if (is_baseline.matches(plan.configurations[i].values)) add(plan, i);
    }
    if (by_key_.empty()) refuse_no_baseline(experiment);
  }

  const std::vector<std::string>& sizes() const { return sizes_; }
  const std::vector<std::size_t>& indices() const { return indices_; }
  bool of_each_size() const {
    return std::any_of(by_key_.begin(), by_key_.end(), [](const auto& entry) { return entry.second.size() > 1; });
  }
  /// Of several the one of equal size, as far as `baseline` does not name what it is.
  std::optional<std::size_t> of(const Bindings& axes) const {
    const auto found = by_key_.find(comparison_key(axes, experiment_.baseline, sizes_));
    if (found == by_key_.end()) return std::nullopt;
    if (found->second.size() == 1) return found->second.begin()->second;
    const auto same = found->second.find(size_key(axes, matched_));
    return same == found->second.end() ? std::nullopt : std::optional(same->second);
  }

 private:
  void add(const Plan& plan, std::size_t index) {
    const Bindings axes = plan.bindings(plan.configurations[index]);
    const auto [other, is_new] =
        by_key_[comparison_key(axes, experiment_.baseline, sizes_)].emplace(size_key(axes, matched_), index);
    if (!is_new) refuse_ambiguous(experiment_, plan.bindings(plan.configurations[other->second]), axes);
    indices_.push_back(index);
  }

  const Experiment& experiment_;
  std::vector<std::string> sizes_;
  std::vector<std::string> matched_;  // those of them in which a baseline and its rows are equal
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> by_key_;
  std::vector<std::size_t> indices_;
};

}  // namespace

void check_baselines(const Experiment& experiment, const Plan& plan) { Baselines(experiment, plan); }

void compare_with_baselines(std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan,
                            std::vector<std::string>& notes) {
  const Baselines baselines(experiment, plan);
  for (const std::size_t index : baselines.indices()) samples[index].row.is_baseline = true;
  std::vector<std::string> missing;
  std::vector<std::string> unmeasured;
  for (Sample& sample : samples) {
    const std::optional<std::size_t> found = baselines.of(sample.row.axes);
    if (!found) {
      missing.push_back("`" + describe(sample.row.axes) + "`");
      continue;
    }
    sample.baseline = *found;
    const Sample& base = samples[*found];
    if (sample.row.is_baseline && !base.row.summary) unmeasured.push_back("`" + describe(base.row.axes) + "`");
    fill_in_comparison(sample, base, experiment.report);
  }
  note_missing(missing, notes);
  note_grown(baselines.sizes(), experiment, notes);
  if (baselines.of_each_size()) {
    notes.emplace_back(
        "several configurations match `baseline`: each row is compared with the one of equal nodes, gpus and ranks");
  }
  if (!unmeasured.empty())
    notes.push_back(fmt::format("the baseline {} has no median yet: no speedup against it", list_some(unmeasured)));
}

}  // namespace hpcbench
