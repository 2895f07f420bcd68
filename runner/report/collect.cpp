#include <algorithm>
#include <limits>

#include "report/samples.hpp"

namespace hpcbench {
namespace {

std::optional<double> median_of_metric(const std::vector<double>& values, double confidence) {
  const auto summary = summarise(values, confidence);
  return summary ? std::optional(summary->median) : std::nullopt;
}

std::vector<double> values_of(const std::vector<const AttemptRecord*>& runs, const std::string& metric) {
  std::vector<double> values;
  for (const AttemptRecord* run : runs) {
    if (const auto value = metric_value(*run, metric)) values.push_back(*value);
  }
  return values;
}

/// Runs that were ended by a time limit took longer than it. A limit that other runs of the row passed says nothing about
/// their order, so it does not count.
void count_censored(Sample& sample) {
  const double slowest = sample.values.empty() ? 0 : *std::max_element(sample.values.begin(), sample.values.end());
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::timeout || !run->time_limit_s || *run->time_limit_s < slowest) continue;
    ++sample.row.censored;
    sample.row.censored_at_s =
        std::min(sample.row.censored_at_s.value_or(std::numeric_limits<double>::max()), *run->time_limit_s);
  }
}

RunValue describe_run(const AttemptRecord& record, const std::optional<double>& value) {
  RunValue run;
  run.run = record.key.run;
  run.attempt = record.key.attempt;
  run.outcome = record.state;
  run.value = value;
  run.started_unix_s = record.started_unix_s;
  run.finished_unix_s = record.finished_unix_s;
  if (const auto wall = record.metrics.find("wall_s"); wall != record.metrics.end()) run.wall_s = wall->second;
  run.node = record.node.value_or("");
  run.reason = record.reason.value_or("");
  run.path = record.path;
  return run;
}

void summarise_sample(Sample& sample, const MetricChoice& metric, double confidence) {
  Row& row = sample.row;
  for (const AttemptRecord* run : sample.runs) {
    ++row.outcomes[run->state];
    const auto value = metric_value(*run, metric.name);
    row.runs.push_back(describe_run(*run, value));
    if (!value) continue;
    sample.measured.push_back(run);
    sample.values.push_back(*value);
  }
  if (metric.is_time) count_censored(sample);
  row.n = static_cast<int>(sample.values.size()) + row.censored;
  if (2 * row.censored < row.n) {
    std::vector<double> values = sample.values;
    values.insert(values.end(), static_cast<std::size_t>(row.censored), row.censored_at_s.value_or(0));
    row.summary = summarise(std::move(values), confidence);
  }
  sample.train_losses = values_of(sample.runs, "train_loss");
  row.train_loss = median_of_metric(sample.train_losses, confidence);
  row.validation_loss = median_of_metric(values_of(sample.runs, "val_loss"), confidence);
}

}  // namespace

std::vector<const AttemptRecord*> counting_attempts(const std::vector<AttemptRecord>& records) {
  std::vector<const AttemptRecord*> sorted;
  sorted.reserve(records.size());
  for (const AttemptRecord& record : records) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
  std::vector<const AttemptRecord*> counting;
  counting.reserve(sorted.size());
  for (const AttemptRecord* record : sorted) {
    const bool again = !counting.empty() && counting.back()->key.config_id == record->key.config_id &&
                       counting.back()->key.run == record->key.run;
    if (again) counting.pop_back();
    counting.push_back(record);
  }
  return counting;
}

std::vector<Sample> collect_samples(const Plan& plan, const std::vector<const AttemptRecord*>& attempts,
                                    const MetricChoice& metric, const ReportSettings& settings, bool orphans) {
  std::vector<Sample> samples;
  std::unordered_map<std::string, std::size_t> index;
  samples.reserve(plan.configurations.size());
  for (const Configuration& configuration : plan.configurations) {
    Sample sample;
    sample.row.config_id = configuration.id;
    sample.row.axes = plan.bindings(configuration);
    sample.row.gpus = configuration.gpus();
    index.emplace(configuration.id, samples.size());
    samples.push_back(std::move(sample));
  }
  for (const AttemptRecord* attempt : attempts) {
    auto found = index.find(attempt->key.config_id);
    if (found == index.end()) {
      if (!orphans || attempt->key.run.warmup) continue;
      Sample sample;
      sample.row.config_id = attempt->key.config_id;
      sample.row.axes = attempt->axes;
      sample.row.gpus = attempt->gpus;
      found = index.emplace(attempt->key.config_id, samples.size()).first;
      samples.push_back(std::move(sample));
    }
    if (!attempt->key.run.warmup) samples[found->second].runs.push_back(attempt);
  }
  for (Sample& sample : samples) summarise_sample(sample, metric, settings.confidence);
  return samples;
}

}  // namespace hpcbench
