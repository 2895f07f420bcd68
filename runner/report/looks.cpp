#include "report/looks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "stats/stats.hpp"

namespace hpcbench {
namespace {

constexpr double kHourSeconds = 3600;

/// Returns how many repeats, from 1 without a gap, have an outcome.
int leading_ended(const Sample& sample) {
  int ended = 0;
  for (const AttemptRecord* run : sample.runs) {
    if (!run->key.run.is_repeat() || run->key.run.number != ended + 1 || !is_outcome(run->state)) continue;
    ++ended;
  }
  return ended;
}

/// Records the cost of a run: the time of runs that succeeded or reached their limit; otherwise, as failed runs may have ended
/// at once, the limits of the maximum number of segments; otherwise the time of the others.
void note_cost(const Sample& sample, const Configuration& configuration, CostUnit unit, const Experiment& experiment,
               LookProgress& progress) {
  std::vector<double> times, others;
  for (const AttemptRecord* run : sample.runs) {
    const auto wall_s = run->metrics.find("wall_s");
    if (!is_outcome(run->state) || wall_s == run->metrics.end() || !std::isfinite(wall_s->second)) continue;
    const bool is_whole = run->state == State::succeeded || run->state == State::timeout;
    (is_whole ? times : others).push_back(wall_s->second);
  }
  std::optional<double> time_s = median_of(std::move(times));
  progress.by_limits = !time_s;
  if (!time_s) {
    const int segments = experiment.continuation ? experiment.continuation->max : 1;
    if (const std::optional<double>& limit_s = configuration.work->resources.time_s) time_s = *limit_s * segments;
  }
  if (!time_s) time_s = median_of(std::move(others));
  progress.cost_unit = unit;
  if (time_s) progress.run_hours = configuration.hourly_cost(unit) * *time_s / kHourSeconds;
}

/// Returns an interval's extent to one side, as a share of the value. An interval that is only a bound has no width.
std::optional<double> half_width_of(const std::optional<Interval>& interval, double value,
                                    const std::optional<double>& censored_at) {
  if (!interval || interval->high == censored_at) return std::nullopt;
  const double width = (interval->high - interval->low) / 2;
  if (width == 0) return 0;
  return value == 0 ? std::nullopt : std::optional(width / std::abs(value));
}

/// Returns whether `n` values, or as many of a row and of its baseline, are enough for an interval.
bool can_have_interval(int n, bool of_speedup, const ReportSettings& settings) {
  const Confidence confidence = confidence_of(settings);
  if (!of_speedup) return median_rank(n, confidence).has_value();
  return (settings.paired ? signed_rank_rank(n, confidence) : rank_sum_rank(n, n, confidence)).has_value();
}

/// Judges the rows of one study, one by one.
class Judge {
 public:
  Judge(const std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan)
      : samples_(samples), experiment_(experiment), plan_(plan) {
    looks_ = experiment.report.looks.empty() ? std::vector<int>{experiment.repeats} : experiment.report.looks;
  }

  LookProgress judge(std::size_t index) const {
    const Sample& sample = samples_[index];
    LookProgress progress;
    if (sample.baseline && *sample.baseline != index) progress.baseline = sample.baseline;
    progress.ended = std::min(leading_ended(sample), looks_.back());
    progress.last_look = looks_.back();
    note_cost(sample, plan_.configurations[index], plan_.cost_unit, experiment_, progress);
    if (!experiment_.repeat_rule) {
      progress.look = progress.ended;
      progress.decided = progress.ended == looks_.back();
      progress.next = progress.decided ? 0 : looks_.back();
      return progress;
    }
    progress.look = sample.look;
    if (by_speedup(progress)) progress.look = std::min(sample.look, samples_[*progress.baseline].look);
    decide(sample, progress);
    return progress;
  }

 private:
  bool by_speedup(const LookProgress& progress) const {
    return experiment_.repeat_rule->of == RepeatRule::Of::speedup && progress.baseline.has_value();
  }

  void decide(const Sample& sample, LookProgress& progress) const {
    if (progress.look == 0) {
      progress.next = looks_.front();
      progress.why = fmt::format("{} of {} runs of the first look have ended", progress.ended, looks_.front());
      return;
    }
    progress.without_value = progress.look - values_up_to(sample, progress.look);
    const bool speedups = by_speedup(progress);
    const bool only_compared = experiment_.repeat_rule->of == RepeatRule::Of::speedup && sample.row.is_baseline;
    if (speedups && sample.row.speedup)
      progress.half_width = half_width_of(sample.row.speedup->interval, sample.row.speedup->value, std::nullopt);
    if (!speedups && sample.row.summary)
      progress.half_width = half_width_of(sample.row.summary->interval, sample.row.summary->median, sample.row.censored_at_s);
    progress.decided =
        only_compared || (progress.half_width && *progress.half_width <= experiment_.repeat_rule->until * (1 + kRatioRounding));
    if (progress.decided) return;
    const auto next = std::upper_bound(looks_.begin(), looks_.end(), progress.look);
    const std::string missing = why_impossible(sample, progress);
    if (missing.empty() && next != looks_.end()) progress.next = *next;
    progress.why = describe_width(progress, sample) + missing;
    if (missing.empty() && next == looks_.end()) progress.why += fmt::format("; it ended undecided at {} runs", looks_.back());
    fill_in_forecast(progress);
  }

  std::string describe_width(const LookProgress& progress, const Sample& sample) const {
    const std::string failed = progress.without_value > 0 ? fmt::format(", {} of which {} no value", progress.without_value,
                                                                        progress.without_value == 1 ? "has" : "have")
                                                          : "";
    if (!progress.half_width) {
      const bool censored = sample.row.counts.censored > 0;
      return fmt::format("no interval{} at the look of {} runs{}", censored ? " with two ends" : "", progress.look, failed);
    }
    return fmt::format("half width {:.3g} %, more than {:.3g} %, at the look of {} runs{}", 100 * *progress.half_width,
                       100 * experiment_.repeat_rule->until, progress.look, failed);
  }

  /// Returns why no number of further runs would help; empty if they might.
  std::string why_impossible(const Sample& sample, const LookProgress& progress) const {
    const int values = progress.look - progress.without_value;
    if (values == 0) return "; no run of it has a value, and no more are made";
    if (by_speedup(progress)) {
      const int base = values_up_to(samples_[*progress.baseline], progress.look);
      if (base == 0) return "; its baseline has no value, and no more runs are made";
      if (!can_have_interval(std::min(values, base) + looks_.back() - progress.look, true, experiment_.report))
        return "; with so many runs lost no look can have an interval, and no more are made";
    } else if (!can_have_interval(values + looks_.back() - progress.look, false, experiment_.report)) {
      return "; with so many runs lost no look can have an interval, and no more are made";
    }
    (void)sample;
    return "";
  }

  /// Counts runs with a value, and runs known to take longer than their limit.
  int values_up_to(const Sample& sample, int look) const {
    const auto up_to = [&](const AttemptRecord* run) { return run->key.run.number <= look; };
    const auto measured = std::count_if(sample.measured.begin(), sample.measured.end(), up_to);
    return std::min(look, static_cast<int>(measured) + sample.row.counts.censored);
  }

  void fill_in_forecast(LookProgress& progress) const {
    if (!progress.half_width) return;
    const double ratio = *progress.half_width / experiment_.repeat_rule->until;
    const double runs = std::min(progress.look * ratio * ratio, 1e6);
    const auto at =
        std::lower_bound(looks_.begin(), looks_.end(), std::max(static_cast<int>(std::ceil(runs)), progress.look + 1));
    progress.forecast = at == looks_.end() ? static_cast<int>(std::ceil(runs)) : *at;
  }

  const std::vector<Sample>& samples_;
  const Experiment& experiment_;
  const Plan& plan_;
  std::vector<int> looks_;
};

}  // namespace

Confidence confidence_of(const ReportSettings& settings) { return {settings.confidence, settings.looks}; }

int reached_look(const Sample& sample, const ReportSettings& settings) {
  int look = 0;
  const int ended = settings.looks.empty() ? 0 : leading_ended(sample);
  for (const int each : settings.looks) look = each <= ended ? each : look;
  return look;
}

void check_repeat_rule(const Experiment& experiment) {
  if (!experiment.repeat_rule) return;
  const ReportSettings& settings = experiment.report;
  const bool of_speedup = experiment.repeat_rule->of == RepeatRule::Of::speedup;
  const auto can_decide = [&](int look) { return can_have_interval(look, of_speedup, settings); };
  if (std::any_of(settings.looks.begin(), settings.looks.end(), can_decide)) return;
  throw InputError(fmt::format(
      "{}: error: no row could ever be decided: with at most {} no interval of a {} reaches {:g} %{}\n  = more runs, or fewer "
      "looks: `repeats: {{from: 8, to: 40, until: {:.3g} %}}`",
      experiment.repeat_rule->place, counted(settings.looks.back(), "run", "runs"), of_speedup ? "speedup" : "median",
      100 * settings.confidence, settings.looks.size() > 1 ? fmt::format(" over {} looks", settings.looks.size()) : "",
      100 * experiment.repeat_rule->until));
}

std::vector<LookProgress> judge_looks(const std::vector<Sample>& samples, const Experiment& experiment, const Plan& plan) {
  const Judge judge(samples, experiment, plan);
  std::vector<LookProgress> rows;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) rows.push_back(judge.judge(i));
  // A baseline continues as far as the rows that are compared with it.
  std::vector<int> wanted(rows.size(), 0);
  for (const LookProgress& row : rows) {
    if (row.baseline) wanted[*row.baseline] = std::max(wanted[*row.baseline], row.next);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (wanted[i] > rows[i].ended) rows[i].next = std::max(rows[i].next, wanted[i]);
  }
  return rows;
}

std::vector<LookProgress> look_progress(const Experiment& experiment, const Plan& plan, std::vector<AttemptRecord> records) {
  take_values_at(records, experiment);
  const std::vector<const AttemptRecord*> attempts = asked_repeats(plan, sorted_attempts(records));
  // Blocks of a budget depend on costs alone: a metric that no run has is left to the report.
  MetricChoice metric = experiment.repeat_rule ? choose_metric(experiment, attempts, {}) : MetricChoice{"wall_s", "s", true};
  metric.is_of_part = metric.is_of_part || experiment.report.inner;
  std::vector<Sample> samples = collect_samples(plan, attempts, metric, experiment.report, experiment.scale_by(), false);
  std::vector<std::string> notes;
  if (metric.is_compared() && !experiment.baseline.empty())
    compare_with_baselines(samples, metric, experiment, plan, false, notes);
  return judge_looks(samples, experiment, plan);
}

std::string describe_rest(const LookProgress& progress) {
  if (progress.next == 0 || !progress.forecast) return "";
  // From 8 blocks on, the forecast is right within a factor of 0.44 to 1.93 in four of five rows: docs/statistics.md.
  if (*progress.forecast > progress.last_look) {
    return fmt::format("; by its spread it takes about {} runs, more than the {} of the last look", *progress.forecast,
                       progress.last_look);
  }
  const int runs = std::max(0, *progress.forecast - progress.ended);
  const std::string hours =
      progress.run_hours ? fmt::format(", {} {}", plain_number(runs * *progress.run_hours), to_string(progress.cost_unit)) : "";
  return fmt::format("; about {} more runs{} (half to twice as many)", runs, hours);
}

std::string describe_progress(const LookProgress& progress, const Experiment& experiment) {
  if (!experiment.repeat_rule) return "";
  if (!progress.decided) return progress.why;
  if (!progress.half_width) return fmt::format("{} runs, as many as the rows that are compared with it", progress.ended);
  return fmt::format("decided at the look of {} runs: half width {:.2g} %, at most {:.3g} %", progress.look,
                     100 * *progress.half_width, 100 * experiment.repeat_rule->until);
}

}  // namespace hpcbench
