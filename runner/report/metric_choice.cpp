#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

std::string unit_of_metric(const std::string& name, const Experiment& experiment,
                           const std::vector<const AttemptRecord*>& attempts) {
  for (const AttemptRecord* record : attempts) {
    if (const auto unit = record->units.find(name); unit != record->units.end()) return unit->second;
  }
  const Metric* const found = experiment.find_metric(name);
  if (found != nullptr && !found->unit.empty()) return found->unit;
  if (name.ends_with("_s") && !name.ends_with("_per_s")) return "s";
  if (name.ends_with("_bytes")) return "bytes";
  return "";
}

/// Returns whether a time is the lesser part of its runs, like the seconds of a step: a run's time limit then does not bound
/// it.
bool is_small_part(const std::string& name, const std::vector<const AttemptRecord*>& attempts) {
  constexpr double kWholeFrom = 0.5;
  std::vector<double> shares;
  for (const AttemptRecord* record : attempts) {
    const auto value = metric_value(*record, name);
    const auto wall_s = metric_value(*record, "wall_s");
    if (value && wall_s && *wall_s > 0) shares.push_back(*value / *wall_s);
  }
  return median_of(std::move(shares)).value_or(1) < kWholeFrom;
}

/// Throws if no successful run has the metric, unless no run has succeeded yet.
void require_metric(const std::string& name, const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts) {
  std::set<std::string> there;
  std::string why;  // of the first run with a warning about it
  for (const AttemptRecord* record : attempts) {
    if (record->key.run.is_warmup() || record->state != State::succeeded) continue;
    if (metric_value(*record, name) || is_nan_metric(*record, name)) return;
    for (const auto& [other, value] : record->metrics) there.insert(other);
    const std::string begin = fmt::format("metric {}: ", name);
    for (const std::string& warning : record->warnings) {
      if (why.empty() && warning.starts_with(begin))
        why = fmt::format("{}: {}", to_string(record->key), warning.substr(begin.size()));
    }
  }
  if (there.empty()) return;
  const std::vector<std::string> names(there.begin(), there.end());
  if (!why.empty()) {
    throw InputError(fmt::format(
        "error: no run has the metric `{}` ({})\nFix it in `metrics` of {}: the kept logs are then read again, and no "
        "run is repeated. Metrics with values: {}",
        name, why, experiment.path, join(names, ", ")));
  }
  throw InputError(
      fmt::format("error: no run has the metric `{}`{}; there are: {}", name, did_you_mean(name, names), join(names, ", ")));
}

/// The unit of a metric, and its place.
struct UnitPlace {
  std::string unit;
  std::string place;
};

void convert_values(AttemptRecord& record, const std::string& metric, const std::string& unit, double factor) {
  record.units[metric] = unit;
  if (factor == 1) return;
  if (record.metrics.contains(metric)) record.metrics[metric] *= factor;
  for (SeriesPoint& point : record.series) {
    if (point.name == metric) point.value *= factor;
  }
}

}  // namespace

void unify_units(std::vector<AttemptRecord>& records, const std::vector<const AttemptRecord*>& attempts, const Plan& plan,
                 const Experiment& experiment, const ReportOptions& options) {
  const std::string chosen = options.metric.value_or(experiment.report_metric());
  const auto is_shown = [&](const std::string& metric) {
    const auto& others = options.metric_columns;
    return metric == chosen || std::find(others.begin(), others.end(), metric) != others.end();
  };
  std::vector<std::pair<std::size_t, const AttemptRecord*>> ordered;  // in the order of the plan; others last
  for (const AttemptRecord* attempt : attempts) {
    const auto index = plan.find(attempt->key.config_id);
    if (index || options.orphans) ordered.emplace_back(index.value_or(plan.configurations.size()), attempt);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::string, UnitPlace> units;
  for (const auto& [index, attempt] : ordered) {
    AttemptRecord& record = records[static_cast<std::size_t>(attempt - records.data())];
    const NameMap<std::string> of_record = record.units;
    for (const auto& [metric, unit] : of_record) {
      const auto [known, is_new] = units.try_emplace(metric, UnitPlace{unit, "in " + to_string(record.key)});
      const Metric* const declared = is_new ? experiment.find_metric(metric) : nullptr;
      if (declared != nullptr && !declared->unit.empty()) known->second = {declared->unit, "by `metrics`"};
      const auto& [wanted, place] = known->second;
      if (unit == wanted) continue;
      if (const auto factor = unit_factor(unit, wanted)) {
        convert_values(record, metric, wanted, *factor);
      } else if (is_shown(metric)) {
        throw InputError(fmt::format(
            "error: `{}` is in `{}` in {}, and in `{}` {}: these do not convert\nGive values of another unit a metric of "
            "their own, or compute one from the other by `formula`",
            metric, unit, to_string(record.key), wanted, place));
      }
    }
  }
}

std::optional<double> metric_value(const AttemptRecord& record, const std::string& metric) {
  if (record.state != State::succeeded) return std::nullopt;
  const auto found = record.metrics.find(metric);
  if (found == record.metrics.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

MetricChoice choose_metric(const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts,
                           const ReportOptions& options) {
  MetricChoice choice;
  choice.name = options.metric.value_or(experiment.report_metric());
  if (!options.metric_may_be_absent) require_metric(choice.name, experiment, attempts);
  choice.unit = unit_of_metric(choice.name, experiment, attempts);
  choice.kind = experiment.kind_of(choice.name, choice.unit);
  choice.scale_by = experiment.scale_by();
  choice.is_time = choice.unit == "s";
  choice.is_of_part = choice.is_time && is_small_part(choice.name, attempts);
  return choice;
}

}  // namespace hpcbench
