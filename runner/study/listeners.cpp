#include "study/listeners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "ingest/metric_files.hpp"
#include "runfiles/claim.hpp"
#include "study/rounds.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr double kFlushInterval = 1;  // seconds between transactions
constexpr int kFailuresTold = 20;     // kinds of failures; each is shown once, with a count in the end

/// The holder of its claim, where that can be seen.
std::string claimed_by(const std::string& folder) {
  const std::optional<Claim> claim = read_claim(folder);
  if (!claim) return "not claimed";
  if (claim->revoked) return "its claim is revoked";
  if (!claim->process) return fmt::format("claimed for job {}", claim->job);
  return fmt::format("claimed by job {}, process {} of {}", claim->job, claim->process->pid, claim->process->host);
}

/// `-3 at stdout.log:1 is a negative time`, where that is why the metric has no value.
std::optional<std::string> negative_time(const AttemptRecord& record, const std::string& metric) {
  const std::string begin = fmt::format("metric {}: ", metric);
  for (const std::string& warning : record.warnings) {
    if (warning.starts_with(begin) && warning.ends_with(" is a negative time")) return warning.substr(begin.size());
  }
  return std::nullopt;
}

}  // namespace

IndexListener::IndexListener(Store& store, std::string experiment, Clock& clock)
    : store_(store), experiment_(std::move(experiment)), clock_(clock) {}

void IndexListener::intended(const std::string& /*batch*/, const std::vector<AttemptKey>& attempts) {
  std::vector<AttemptState> states;
  states.reserve(attempts.size());
  for (const AttemptKey& key : attempts) states.push_back({key, State::intended});
  store_.put_states(experiment_, states);
}

void IndexListener::submitted(const AttemptKey& attempt, const std::string& /*job*/) {
  states_.push_back({attempt, State::submitted});
  flush(false);
}

void IndexListener::ended(const AttemptRecord& record) {
  records_.push_back(record);
  flush(false);
}

void IndexListener::flush(bool now) {
  if (!now && clock_.monotonic_s() - last_flush_s_ < kFlushInterval) return;
  last_flush_s_ = clock_.monotonic_s();
  // An attempt may be in both: its record, the later word, is written last.
  if (!states_.empty()) store_.put_states(experiment_, states_);
  if (!records_.empty()) store_.put(records_);
  states_.clear();
  records_.clear();
}

void LogListener::intended(const std::string& batch, const std::vector<AttemptKey>& attempts) {
  log_info(fmt::format("intends batch {}: {}", batch, counted(static_cast<long long>(attempts.size()), "attempt", "attempts")));
}

void LogListener::submitted(const AttemptKey& attempt, const std::string& job) {
  if (is_logged(LogLevel::info))
    log_info(fmt::format("submitted {} as {}", to_string(attempt), job.empty() ? "a job not known yet" : "job " + job));
}

void LogListener::ended(const AttemptRecord& record) {
  if (!is_logged(LogLevel::info)) return;
  const auto wall = record.metrics.find("wall_s");
  log_info(fmt::format("verdict {}: {}{}{}; {}", to_string(record.key), to_string(record.state),
                       record.reason ? ", " + *record.reason : "",
                       wall == record.metrics.end() ? "" : fmt::format(", wall_s {:.6g}", wall->second),
                       claimed_by(results_ + "/" + to_string(record.key))));
}

void CostListener::ended(const AttemptRecord& record) { hours_ += attempt_hours(record, unit_); }

void ProgressListener::ended(const AttemptRecord& record) {
  if (!is_outcome(record.state) || !record.key.run.is_repeat() || record.is_void) return;
  const auto wall = record.metrics.find("wall_s");
  progress_.remaining().note_end(record.key.config_id,
                                 wall == record.metrics.end() ? std::nullopt : std::optional(wall->second));
}

void FailureListener::ended(const AttemptRecord& record) {
  if (record.key.run.is_warmup()) return;
  if (record.state == State::succeeded) watch_.failures.note_success();
  if (is_outcome(record.state) && record.state != State::succeeded) show(record);
}

void FailureListener::show(const AttemptRecord& record) {
  const std::string name = to_string(record.key);
  const std::string reason = record.reason.value_or("no reason known");
  if (record.is_void) {
    progress_.print(fmt::format("{} {}; its run gets another attempt", name, explain_void(reason)));
    return;
  }
  if (cancels_expected_ && record.state == State::cancelled) return;
  if (!watch_.failures.note_failure(record.key, record.state, reason)) return;
  if (watch_.kinds_told < kFailuresTold) {
    progress_.print(fmt::format("{} {}: {} ({}/{})", name, to_string(record.state), reason, results_, name));
  } else if (watch_.kinds_told == kFailuresTold) {
    progress_.print("more runs do not succeed; `hpcbench status` lists them");
  }
  ++watch_.kinds_told;
}

void MissedMetricListener::ended(const AttemptRecord& record) {
  const ReadingRules* const rules = reading_.find(record.key.config_id);
  if (rules == nullptr || record.state != State::succeeded) return;
  if (record.key.run.is_repeat()) {
    ++watch_.measured;
    for (const Metric& metric : rules->metrics) {
      if (!record.metrics.contains(metric.name) && metric.source != "accounting" && !metric.is_formula())
        watch_.without_value[metric.name].push_back(record.key);
    }
  }
  if (!watch_.succeeded.insert(record.key.config_id).second) return;
  for (const Metric& metric : rules->metrics) {
    if (record.metrics.contains(metric.name) || metric.source == "accounting") continue;  // Slurm's comes later
    if (!watch_.warned.insert(metric.name).second) continue;
    if (is_nan_metric(record, metric.name)) {
      if (!metric.is_formula()) warn_of_nan(record, metric.name);  // a formula's warning would repeat those of its metrics
      continue;
    }
    progress_.print(fmt::format(
        "warning: {} has no value of the metric {}: {}\n  Mend it in `metrics`: the kept logs are then read "
        "again, and no run is repeated.",
        to_string(record.key), metric.name,
        negative_time(record, metric.name).value_or(explain_missed_metric(metric, results_ + "/" + to_string(record.key)))));
  }
}

void MissedMetricListener::tell_runs_without_value() {
  constexpr std::size_t kMostNamed = 5;
  for (const auto& [metric, keys] : std::exchange(watch_.without_value, {})) {
    const bool is_told = keys.size() == 1 && watch_.warned.contains(metric);
    if (is_told) continue;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kMostNamed, keys.size()); ++i)
      names.push_back(fmt::format("{}/{}", keys[i].config_id, to_string(keys[i].run)));
    if (keys.size() > kMostNamed) names.emplace_back("...");
    progress_.print(fmt::format("warning: {} of {} {} no value of the metric {}: {}", keys.size(),
                                counted(watch_.measured, "run", "runs"), keys.size() == 1 ? "has" : "have", metric,
                                join(names, ", ")));
  }
}

void MissedMetricListener::warn_of_nan(const AttemptRecord& record, const std::string& metric) {
  const std::string begin = fmt::format("metric {}: ", metric);
  const auto told = std::find_if(record.warnings.begin(), record.warnings.end(),
                                 [&](const std::string& warning) { return warning.starts_with(begin); });
  progress_.print(fmt::format(
      "warning: {}: {} is nan{}\n  If no such run is a success, write `success: {{require: [{} < 1e300]}}`, "
      "or a limit that means more.",
      to_string(record.key), metric, told == record.warnings.end() ? "" : ": " + told->substr(begin.size()), metric));
}

StudyListeners::StudyListeners(Store& store, const Study& study, Progress& shown, Clock& clock, StudyWatch& watch)
    : reading(read_reading(study.results)),
      log(study.results),
      cost(study.plan.cost_unit),
      failures(study.results, watch, shown),
      progress(shown),
      missed(study.results, reading, watch, shown),
      index(store, study.experiment.name, clock),
      events(study.results, reading, {&log, &cost, &failures, &progress, &missed, &index}) {}

}  // namespace hpcbench
