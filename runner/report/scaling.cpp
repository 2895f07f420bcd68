#include <algorithm>

#include "base/text.hpp"
#include "plan/size_axes.hpp"
#include "report/samples.hpp"
#include "stats/fits.hpp"

namespace hpcbench {
namespace {

bool names_axis(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns whether this axis of the placement is part of a size in `unit`.
bool counts(ScaleBy unit, std::string_view axis) {
  if (unit == ScaleBy::nodes) return axis == "nodes";
  return axis != (unit == ScaleBy::gpus ? kRanksPerNode : "gpus_per_node");
}

/// Returns a key that is equal for rows that differ only in `sizes`.
std::string family_of(const Row& row, const std::vector<std::string>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : row.axes) {
    if (!names_axis(sizes, name)) parts.push_back(json_quote(name) + ":" + value.canonical());
  }
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

std::string label_of_family(const Row& row, const std::vector<std::string>& columns, const std::vector<std::string>& sizes) {
  std::vector<std::string> others;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(others),
               [&](const std::string& column) { return !names_axis(sizes, column); });
  return others.empty() ? "all rows" : row_label(others, row);
}

struct Family {
  const Sample* single = nullptr;      // of size 1
  std::vector<const Sample*> members;  // by size
};

/// Returns the families in the order of their first rows.
std::vector<Family> families_of(const std::vector<const Sample*>& shown, const std::vector<std::string>& sizes) {
  std::vector<Family> families;
  std::unordered_map<std::string, std::size_t> index;
  for (const Sample* sample : shown) {
    const auto [found, is_new] = index.emplace(family_of(sample->row, sizes), families.size());
    if (is_new) families.emplace_back();
    Family& family = families[found->second];
    family.members.push_back(sample);
    if (sample->row.size == 1) family.single = sample;
  }
  for (Family& family : families) {
    std::stable_sort(family.members.begin(), family.members.end(),
                     [](const Sample* a, const Sample* b) { return a->row.size < b->row.size; });
  }
  return families;
}

/// Returns speedups over the family's own row of size 1; under weak scaling the scaled ones, size x T(1) / T(size), which those
/// of rates already are.
std::vector<ScalingPoint> points_of(const Family& family, const MetricChoice& metric, const ReportSettings& settings) {
  std::vector<ScalingPoint> points;
  for (const Sample* sample : family.members) {
    if (sample == family.single) {
      if (sample->row.summary) points.push_back({1, 1});
      continue;
    }
    const auto ratio = estimate_speedup(*family.single, *sample, metric, settings);
    if (!ratio || sample->row.size == 0) continue;
    points.push_back({sample->row.size, ratio->value * (metric.is_flat(settings.scaling) ? sample->row.size : 1)});
  }
  return points;
}

std::optional<Fit> fit_family(const Family& family, const MetricChoice& metric, const ReportSettings& settings,
                              const std::vector<std::string>& columns, const std::vector<std::string>& sizes) {
  if (family.single == nullptr) return std::nullopt;
  const bool weak = settings.scaling == Scaling::weak;
  const std::vector<ScalingPoint> points = points_of(family, metric, settings);
  const auto result = weak ? fit_gustafson(points) : fit_amdahl(points);
  if (!result) return std::nullopt;
  Fit fit;
  fit.law = weak ? "gustafson" : "amdahl";
  fit.label = label_of_family(family.members.front()->row, columns, sizes);
  fit.serial_fraction = result->serial_fraction;
  fit.residual_rms = result->residual_rms;
  fit.degrees_of_freedom = result->degrees_of_freedom;
  for (std::size_t i = 0; i < points.size(); ++i) {
    fit.points.push_back({points[i].gpus, points[i].speedup, result->fitted[i], points[i].speedup - result->fitted[i]});
  }
  const int largest = points.back().gpus;
  for (const int times : {2, 4}) {
    const double beyond = (weak ? gustafson_speedup : amdahl_speedup)(fit.serial_fraction, times * largest);
    if (beyond > 0) fit.extrapolated.push_back({times * largest, std::nullopt, beyond, std::nullopt});
  }
  return fit;
}

}  // namespace

std::vector<std::string> axes_along_lines(std::vector<std::string> sizes, const Plan& plan, ScaleBy unit) {
  for (const char* name : {"gpus_per_node", kRanksPerNode}) {
    const auto place = std::find(plan.axes.begin(), plan.axes.end(), name);
    if (place == plan.axes.end() || !names_axis(sizes, name) || counts(unit, name)) continue;
    const auto column = static_cast<std::size_t>(place - plan.axes.begin());
    std::unordered_map<std::string, Value> seen;  // by everything but the size, and the size
    const bool ambiguous =
        std::any_of(plan.configurations.begin(), plan.configurations.end(), [&](const Configuration& configuration) {
          Row row;
          row.axes = plan.bindings(configuration);
          const std::string key = family_of(row, sizes) + " " + std::to_string(size_of(plan, configuration, unit));
          const Value& value = configuration.values[column];
          return seen.emplace(key, value).first->second != value;
        });
    if (ambiguous) std::erase(sizes, name);
  }
  return sizes;
}

std::vector<Fit> fit_scaling(const std::vector<const Sample*>& shown, const MetricChoice& metric,
                             const ReportSettings& settings, const std::vector<std::string>& columns,
                             const std::vector<std::string>& sizes) {
  std::vector<Fit> fits;
  if (!metric.kind.scales) return fits;
  for (const Family& family : families_of(shown, sizes)) {
    if (auto fit = fit_family(family, metric, settings, columns, sizes)) fits.push_back(std::move(*fit));
  }
  return fits;
}

}  // namespace hpcbench
