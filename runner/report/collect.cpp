#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include "base/key_order.hpp"
#include "base/text.hpp"
#include "plan/size_axes.hpp"
#include "report/looks.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

std::vector<double> values_of(const std::vector<const AttemptRecord*>& runs, const std::string& metric) {
  std::vector<double> values;
  for (const AttemptRecord* run : runs) {
    if (const auto value = metric_value(*run, metric)) values.push_back(*value);
  }
  return values;
}

bool is_import(const AttemptRecord* record) {
  const auto source = record->facts.find("source");
  return source != record->facts.end() && source->second == "imported";
}

/// Counts runs that a time limit ended: they took longer than the limit. A limit below the time of other runs of the row does
/// not determine their order, so it does not count.
void count_censored(Sample& sample) {
  const double slowest = sample.values.empty() ? 0 : *std::max_element(sample.values.begin(), sample.values.end());
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::timeout || !run->time_limit_s || *run->time_limit_s < slowest) continue;
    if (!sample.counts(run->key.run)) continue;
    ++sample.row.counts.censored;
    sample.row.censored_at_s =
        std::min(sample.row.censored_at_s.value_or(std::numeric_limits<double>::max()), *run->time_limit_s);
  }
}

/// Between a run and one with only a lower bound there is no known value, and interpolation would use the limit as a value.
void hide_bounded_quartile(Row& row, const std::vector<double>& values) {
  if (row.counts.censored == 0) return;
  const double slowest = *std::max_element(values.begin(), values.end());
  double& q3 = row.summary->q3;
  if (q3 > slowest && q3 < *row.censored_at_s) q3 = std::numeric_limits<double>::quiet_NaN();
}

/// Returns the metrics of a successful run that are NaN or infinite and show that it diverged: the table's metric and losses.
std::vector<std::string> diverged_metrics(const AttemptRecord& record, const std::string& metric) {
  std::vector<std::string> names;
  if (record.state != State::succeeded) return names;
  for (const std::string& name : nan_metrics(record)) {
    if (name == metric || is_loss(name)) names.push_back(name);
  }
  return names;
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
  return run;
}

/// Returns the statistic of a published value, `median`; empty for a run.
std::string statistic_of(const AttemptRecord& record) {
  const auto fact = record.facts.find("statistic");
  return fact == record.facts.end() ? "" : fact->second;
}

/// Returns the one statistic that counts in a row: values of runs if it has any, else the first published one.
std::string counting_statistic(const Sample& sample, const std::string& metric) {
  std::string statistic;
  for (const AttemptRecord* run : sample.runs) {
    if (!sample.counts(run->key.run) || !metric_value(*run, metric)) continue;
    const std::string own = statistic_of(*run);
    if (own.empty()) return "";
    if (statistic.empty()) statistic = own;
  }
  return statistic;
}

/// A published median of n runs stands for these: the row has their n, and their spread is unknown. Of several such values the
/// row shows the median, with the sum of their n.
void take_published(Sample& sample) {
  Row& row = sample.row;
  const auto imported = std::count_if(sample.measured.begin(), sample.measured.end(), is_import);
  if (imported > 0)
    row.source = static_cast<std::size_t>(imported) == sample.measured.size() ? "imported" : "measured, imported";
  if (sample.measured.empty() || statistic_of(*sample.measured.front()).empty() || row.counts.censored > 0) return;
  row.statistic = statistic_of(*sample.measured.front());
  row.counts.n = 0;
  for (const AttemptRecord* published : sample.measured) {
    const auto n = published->facts.find("statistic_n");
    const auto count = n == published->facts.end() ? std::nullopt : Value::from_plain(n->second).number();
    row.counts.n += std::max(1, static_cast<int>(count.value_or(1)));
  }
  row.summary->n = row.counts.n;
  row.summary->interval.reset();
}

/// Collects Slurm's names of all nodes of a run, else the hosts in its files.
void gather_nodes(Sample& sample) {
  for (const AttemptRecord* run : sample.measured.empty() ? sample.runs : sample.measured) {
    for (const std::string& node : split(run->nodes ? *run->nodes : run->node.value_or(""), ',')) {
      if (!node.empty()) sample.row.nodes.insert(node);
    }
    sample.row.nodes_of_slurm = sample.row.nodes_of_slurm || run->nodes;
  }
}

void summarise_sample(Sample& sample, const MetricChoice& metric, const ReportSettings& settings) {
  Row& row = sample.row;
  sample.look = reached_look(sample, settings);
  row.runs.reserve(sample.runs.size());
  sample.measured.reserve(sample.runs.size());
  sample.values.reserve(sample.runs.size());
  const std::string statistic = counting_statistic(sample, metric.name);
  for (const AttemptRecord* run : sample.runs) {
    if (!is_published_of_others(*run, metric.name)) ++row.counts.outcomes[run->state];
    auto value = sample.counts(run->key.run) ? metric_value(*run, metric.name) : std::nullopt;
    const bool is_other = value && statistic_of(*run) != statistic;
    if (is_other) value.reset();
    row.runs.push_back(describe_run(*run, value));
    if (is_other) {
      row.runs.back().reason =
          fmt::format("published {} beside {}", statistic_of(*run), statistic.empty() ? "values of runs" : "the " + statistic);
      ++sample.other_statistics;
    }
    if (const std::vector<std::string> diverged = diverged_metrics(*run, metric.name); !diverged.empty()) {
      row.runs.back().reason = "nan: " + join(diverged, ", ");
      ++row.counts.nan;
    }
    if (!value) continue;
    sample.measured.push_back(run);
    sample.values.push_back(*value);
  }
  gather_facts(sample);
  gather_nodes(sample);
  if (metric.is_time && !metric.is_of_part) count_censored(sample);
  row.counts.n = static_cast<int>(sample.values.size()) + row.counts.censored;
  if (2 * row.counts.censored < row.counts.n) {
    std::vector<double> values = sample.values;
    values.insert(values.end(), static_cast<std::size_t>(row.counts.censored), row.censored_at_s.value_or(0));
    row.summary = summarise(std::move(values), confidence_of(settings));
    hide_bounded_quartile(row, sample.values);
    // Before its first look a row shows only its median.
    if (row.summary && !settings.looks.empty() && sample.look == 0) row.summary->interval.reset();
  }
  take_published(sample);
  sample.train_losses = values_of(sample.runs, "train_loss");
  row.losses.train_loss = median_of(sample.train_losses);
  row.losses.validation_loss = median_of(values_of(sample.runs, "val_loss"));
}

}  // namespace

bool is_published_of_others(const AttemptRecord& record, const std::string& metric) {
  return record.state == State::succeeded && !statistic_of(record).empty() && !metric_value(record, metric);
}

int Row::runs_set_aside() const {
  std::set<RunName> names;
  for (const RunValue& run : set_aside) names.insert(run.run);
  return static_cast<int>(names.size());
}

int Row::runs_left_out() const {
  std::set<RunName> names;
  for (const RunValue& run : set_aside) names.insert(run.run);
  for (const RunValue& run : runs) names.erase(run.run);
  return static_cast<int>(names.size());
}

bool is_loss(std::string_view metric) { return metric.find("loss") != std::string_view::npos; }

bool lacks_fact(const Sample& sample, std::string_view name) {
  const bool all_gathered = sample.measured.empty() || sample.measured.size() == sample.runs.size();
  return all_gathered && !sample.row.facts.contains(name);
}

const std::string* find_fact(const Sample& sample, const std::string& name) {
  if (!sample.row.facts.contains(name)) return nullptr;
  for (const AttemptRecord* run : sample.measured) {
    if (const auto found = run->facts.find(name); found != run->facts.end()) return &found->second;
  }
  return nullptr;
}

std::optional<double> number_fact(const Sample& sample, const std::string& name) {
  const std::string* text = find_fact(sample, name);
  return text == nullptr ? std::nullopt : Value::from_plain(*text).number();
}

bool is_imported(const Sample& sample) {
  return sample.row.facts.contains("source") && std::any_of(sample.measured.begin(), sample.measured.end(), is_import);
}

std::vector<const AttemptRecord*> sorted_attempts(const std::vector<AttemptRecord>& records) {
  return in_key_order(records, [](const AttemptRecord& each) -> auto& { return each.key; });
}

namespace {

bool is_beyond(const Plan& plan, RunName run) { return run.is_repeat() && run.number > plan.repeats; }

std::unordered_set<std::string> asked_ids(const Plan& plan) {
  std::unordered_set<std::string> ids;
  for (const Configuration& configuration : plan.configurations) ids.insert(configuration.id);
  return ids;
}

}  // namespace

Orphans count_orphans(const Plan& plan, const std::vector<const AttemptRecord*>& attempts) {
  const std::unordered_set<std::string> asked = asked_ids(plan);
  std::unordered_set<std::string> others;
  Orphans orphans;
  for (const AttemptRecord* attempt : attempts) {
    if (attempt->key.run.is_warmup()) continue;
    if (!asked.contains(attempt->key.config_id)) {
      others.insert(attempt->key.config_id);
    } else if (is_beyond(plan, attempt->key.run)) {
      ++orphans.repeats;
    }
  }
  orphans.configurations = others.size();
  return orphans;
}

std::vector<const AttemptRecord*> asked_repeats(const Plan& plan, std::vector<const AttemptRecord*> attempts) {
  const std::unordered_set<std::string> asked = asked_ids(plan);
  std::erase_if(attempts, [&](const AttemptRecord* attempt) {
    return asked.contains(attempt->key.config_id) && is_beyond(plan, attempt->key.run);
  });
  return attempts;
}

int size_on_record(const AttemptRecord& attempt, ScaleBy unit) {
  const auto count = [&](const char* axis) {
    const Value* value = find_binding(attempt.axes, axis);
    return static_cast<int>(value == nullptr ? 0 : value->integer().value_or(0));
  };
  const Value* ranks = find_binding(attempt.axes, kRanksPerNode);
  const bool has_own = unit == ScaleBy::ranks && ranks == nullptr;
  if (const int own = has_own ? count(to_string(unit)) : 0; own > 0) return own;
  if (unit == ScaleBy::nodes) return count("nodes");
  if (unit == ScaleBy::ranks && ranks != nullptr) return count("nodes") * count(kRanksPerNode);
  return unit == ScaleBy::cores ? 0 : attempt.gpus;
}

std::vector<Sample> collect_samples(const Plan& plan, const std::vector<const AttemptRecord*>& attempts,
                                    const MetricChoice& metric, const ReportSettings& settings, ScaleBy unit, bool orphans,
                                    const std::vector<const AttemptRecord*>& set_aside) {
  std::vector<Sample> samples;
  std::unordered_map<std::string, std::size_t> index;
  samples.reserve(plan.configurations.size());
  for (const Configuration& configuration : plan.configurations) {
    Sample sample;
    sample.row.config_id = configuration.id;
    sample.row.axes = plan.bindings(configuration);
    sample.row.derived = plan.derived_bindings(configuration);
    sample.row.gpus = configuration.gpus();
    sample.row.size = size_of(plan, configuration, unit);
    index.emplace(configuration.id, samples.size());
    samples.push_back(std::move(sample));
  }
  for (const AttemptRecord* attempt : attempts) {
    auto found = index.find(attempt->key.config_id);
    if (found == index.end()) {
      if (!orphans || attempt->key.run.is_warmup()) continue;
      Sample sample;
      sample.row.config_id = attempt->key.config_id;
      sample.row.axes = attempt->axes;
      sample.row.gpus = attempt->gpus;
      sample.row.size = size_on_record(*attempt, unit);
      found = index.emplace(attempt->key.config_id, samples.size()).first;
      samples.push_back(std::move(sample));
    }
    if (!attempt->key.run.is_warmup()) samples[found->second].runs.push_back(attempt);
  }
  for (const AttemptRecord* attempt : set_aside) {
    const auto found = index.find(attempt->key.config_id);
    if (found == index.end()) continue;
    std::vector<RunValue>& of_row = samples[found->second].row.set_aside;
    of_row.push_back(describe_run(*attempt, metric_value(*attempt, metric.name)));
    of_row.back().reason = attempt->aside->why;
    of_row.back().again = attempt->aside->again;
  }
  for (Sample& sample : samples) summarise_sample(sample, metric, settings);
  return samples;
}

}  // namespace hpcbench
