#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/looks.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kMostInnerValues = 1'000;

/// Returns the metrics that are a series of this name.
std::set<std::string> metrics_of_series(const Experiment& experiment, const std::string& series) {
  std::set<std::string> names;
  const auto add = [&](const std::vector<Metric>& metrics) {
    for (const Metric& metric : metrics) {
      if (metric.series == series) names.insert(metric.name);
    }
  };
  add(experiment.work.metrics);
  for (const Override& entry : experiment.overrides) {
    if (entry.metrics) add(*entry.metrics);
  }
  return names;
}

/// The runs of one row by value of the axis. Each sample has only the fields that a comparison needs.
using SamplesByValue = std::map<Value, Sample>;

Value inner_value(const SeriesPoint& point) {
  return point.word.empty() ? Value::from_integer(point.index) : Value::from_text(point.word);
}

/// Returns the positions of the words in the output of the runs, the earliest for each.
std::map<Value, long long> order_of_words(const Sample& sample, const std::string& metric) {
  std::map<Value, long long> order;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    for (const SeriesPoint& point : run->series) {
      if (point.name != metric || point.word.empty()) continue;
      const auto [known, is_new] = order.try_emplace(inner_value(point), point.index);
      if (!is_new) known->second = std::min(known->second, point.index);
    }
  }
  return order;
}

SamplesByValue split_by_value(const Sample& sample, const std::string& metric, const Confidence& confidence) {
  SamplesByValue parts;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded || !sample.counts(run->key.run)) continue;
    for (const SeriesPoint& point : run->series) {
      if (point.name != metric || !std::isfinite(point.value)) continue;
      Sample& part = parts[inner_value(point)];
      if (!part.measured.empty() && part.measured.back() == run) {
        part.values.back() = point.value;  // events may contain it twice: as everywhere, the last counts
        continue;
      }
      part.measured.push_back(run);
      part.values.push_back(point.value);
    }
  }
  for (auto& [value, part] : parts) {
    part.row.counts.n = static_cast<int>(part.values.size());
    part.look = sample.look;
    part.row.axes = sample.row.axes;  // the speedup of a rate per GPU needs these
    part.row.gpus = sample.row.gpus;
    part.row.size = sample.row.size;
    part.row.summary = summarise(part.values, confidence);
    if (!confidence.looks.empty() && part.look == 0) part.row.summary->interval.reset();
  }
  return parts;
}

/// Returns the row of the table for one value.
Row row_at(const Row& row, const Sample& part) {
  Row inner;
  inner.config_id = row.config_id;
  inner.axes = row.axes;
  inner.derived = row.derived;
  inner.gpus = row.gpus;
  inner.size = row.size;
  inner.is_baseline = row.is_baseline;
  inner.source = row.source;
  inner.counts.n = part.row.counts.n;
  inner.summary = part.row.summary;
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    RunValue run;
    run.run = part.measured[i]->key.run;
    run.attempt = part.measured[i]->key.attempt;
    run.value = part.values[i];
    inner.runs.push_back(std::move(run));
  }
  return inner;
}

}  // namespace

std::optional<InnerAxis> inner_axis_of(const Experiment& experiment, const ReportOptions& options) {
  const std::optional<InnerAxis>& inner = experiment.report.inner;
  if (!inner) return std::nullopt;
  const std::string metric = options.metric.value_or(experiment.report_metric());
  return metrics_of_series(experiment, inner->name).contains(metric) ? inner : std::nullopt;
}

void take_values_at(std::vector<AttemptRecord>& records, const Experiment& experiment) {
  const std::optional<InnerAxis>& inner = experiment.report.inner;
  if (!inner) return;
  const std::set<std::string> names = metrics_of_series(experiment, inner->name);
  for (AttemptRecord& record : records) {
    for (const std::string& name : names) {
      bool is_series = false;
      std::optional<double> value;
      for (const SeriesPoint& point : record.series) {
        if (point.name != name) continue;
        is_series = true;
        if (inner_value(point) == inner->at) value = point.value;
      }
      if (!is_series) continue;  // a single value that an import gives
      record.metrics.erase(name);
      if (value) record.metrics[name] = *value;
      if (!value) record.warnings.push_back(fmt::format("metric {}: no value at {} = {}", name, inner->name, inner->at.text()));
    }
  }
}

void require_value_at(const std::vector<const AttemptRecord*>& attempts, const InnerAxis& inner, const std::string& metric) {
  std::set<Value> there;
  for (const AttemptRecord* record : attempts) {
    if (record->key.run.is_warmup() || record->state != State::succeeded) continue;
    if (metric_value(*record, metric)) return;
    for (const SeriesPoint& point : record->series) {
      if (point.name == metric) there.insert(inner_value(point));
    }
  }
  if (there.empty()) return;
  constexpr std::size_t kNamed = 40;
  std::vector<std::string> names;
  for (const Value& value : there) {
    if (names.size() < kNamed) names.push_back(value.text());
  }
  throw InputError(fmt::format("error: no run has a value of `{}` at {} = {}; there are: {}{}\nName one of them in `report.at`",
                               metric, inner.name, inner.at.text(), join(names, ", "), there.size() > kNamed ? " ..." : ""));
}

InnerRows collect_inner_rows(const std::vector<Sample>& samples, const std::vector<const Sample*>& shown,
                             const InnerAxis& inner, const MetricChoice& metric, const ReportSettings& settings,
                             bool has_speedup, std::vector<std::string>& notes) {
  std::map<const Sample*, SamplesByValue> parts;
  std::set<Value> values;
  const auto add = [&](const Sample& sample) {
    if (!parts.contains(&sample)) parts.emplace(&sample, split_by_value(sample, metric.name, confidence_of(settings)));
  };
  for (const Sample* sample : shown) {
    add(*sample);
    if (sample->baseline) add(samples[*sample->baseline]);
    for (const auto& [value, part] : parts.at(sample)) values.insert(value);
  }
  if (values.size() > kMostInnerValues) {
    notes.push_back(fmt::format("{} has {} values of {}, and a table of its own at most {}: it is left out", metric.name,
                                values.size(), inner.name, kMostInnerValues));
    return {};
  }
  InnerRows inner_rows;
  if (values.empty()) return inner_rows;  // nothing has been measured yet
  for (const Sample* sample : shown) {
    InnerRowsOfOne& of_row = inner_rows[sample->row.config_id];
    of_row.order = order_of_words(*sample, metric.name);
    for (const auto& [value, part] : parts.at(sample)) {
      Row row = row_at(sample->row, part);
      if (has_speedup && row.is_baseline) row.speedup = Ratio{1, std::nullopt, std::nullopt};
      if (has_speedup && sample->baseline && !row.is_baseline) {
        const SamplesByValue& bases = parts.at(&samples[*sample->baseline]);
        if (const auto base = bases.find(value); base != bases.end())
          row.speedup = estimate_speedup(base->second, part, metric, settings);
      }
      of_row.rows.emplace(value, std::move(row));
    }
  }
  return inner_rows;
}

void append_inner_rows(Table& table, InnerRows inner_rows) {
  for (const Row& row : table.rows) {
    const auto found = inner_rows.find(row.config_id);
    if (found == inner_rows.end()) continue;
    InnerRowsOfOne& of_row = found->second;
    of_row.rows.insert_or_assign(table.inner->at, row);  // with its outcomes, warnings and everything else
    const auto begin = static_cast<std::ptrdiff_t>(table.inner_rows.size());
    for (auto& [value, inner] : of_row.rows) {
      inner.axes.emplace_back(table.inner->name, value);
      table.inner_rows.push_back(std::move(inner));
    }
    const auto place = [&](const Row& each) {  // numbers first; words that no run printed last
      const Value& value = each.axes.back().second;
      const auto word = of_row.order.find(value);
      if (word != of_row.order.end()) return word->second;
      return value.is_text() ? std::numeric_limits<long long>::max() : 0;
    };
    std::stable_sort(table.inner_rows.begin() + begin, table.inner_rows.end(),
                     [&](const Row& a, const Row& b) { return place(a) < place(b); });
  }
}

}  // namespace hpcbench
