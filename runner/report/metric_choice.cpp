#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
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

/// Whether a time is the lesser part of its runs, as the seconds of a step are: that a run took longer than its limit says
/// nothing of it.
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

/// No run that succeeded has it: an error, unless there are no such runs yet.
void require_metric(const std::string& name, const Experiment& experiment, const std::vector<const AttemptRecord*>& attempts) {
  std::set<std::string> there;
  std::string why;  // of the first run that warned of it
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
        "error: no run has the metric `{}` ({})\nMend it in `metrics` of {}: the kept logs are then read again, and no "
        "run is repeated. Metrics with values: {}",
        name, why, experiment.path, join(names, ", ")));
  }
  throw InputError(
      fmt::format("error: no run has the metric `{}`{}; there are: {}", name, did_you_mean(name, names), join(names, ", ")));
}

}  // namespace

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
