#include "study/index_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "ingest/metric_files.hpp"
#include "runfiles/claim.hpp"
#include "study/rounds.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr double kFlushInterval = 1;  // seconds between transactions
constexpr int kFailuresTold = 20;     // kinds of failures; each is told once, with a count in the end

/// Who holds its claim, where that can be seen.
std::string claimed_by(const std::string& folder) {
  const std::optional<Claim> claim = read_claim(folder);
  if (!claim) return "claimed by nobody";
  if (claim->revoked) return "its claim is revoked";
  if (!claim->process) return fmt::format("claimed for job {}", claim->job);
  return fmt::format("claimed by job {}, process {} of {}", claim->job, claim->process->pid, claim->process->host);
}

}  // namespace

IndexWriter::IndexWriter(Store& store, const Study& study, Progress& progress, Clock& clock, StudyWatch& watch)
    : store_(store),
      experiment_(study.experiment.name),
      results_(study.results),
      cost_unit_(study.plan.cost_unit),
      reading_(read_reading(results_)),
      progress_(progress),
      clock_(clock),
      watch_(watch) {}

void IndexWriter::intended(const std::string& batch, const std::vector<AttemptKey>& attempts) {
  log_info(fmt::format("intends batch {}: {}", batch, counted(static_cast<long long>(attempts.size()), "attempt", "attempts")));
  std::vector<AttemptState> states;
  states.reserve(attempts.size());
  for (const AttemptKey& key : attempts) states.push_back({key, State::intended});
  store_.put_states(experiment_, states);
}

void IndexWriter::submitted(const AttemptKey& attempt, const std::string& job) {
  if (is_logged(LogLevel::info))
    log_info(fmt::format("submitted {} as {}", to_string(attempt), job.empty() ? "a job not known yet" : "job " + job));
  states_.push_back({attempt, State::submitted});
  flush(false);
}

State IndexWriter::settled(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason) {
  const std::string folder = results_ + "/" + to_string(attempt);
  keep_outside_files_late(folder);
  const ReadingRules* rules = reading_.find(attempt.config_id);
  AttemptRecord record = without_finish ? settle_attempt(folder, *without_finish, reason, rules) : read_attempt(folder, rules);
  const State state = record.state;
  settled_hours_ += attempt_hours(record, cost_unit_);
  log_verdict(record, folder);
  if (!attempt.run.is_warmup()) {
    if (state == State::succeeded) watch_.failures.note_success();
    if (is_outcome(state) && state != State::succeeded) tell_failure(attempt, state, record);
  }
  if (is_outcome(state) && attempt.run.is_repeat() && !record.is_void) {
    const auto wall = record.metrics.find("wall_s");
    progress_.remaining().note_end(attempt.config_id,
                                   wall == record.metrics.end() ? std::nullopt : std::optional(wall->second));
  }
  warn_of_missed_metrics(record, folder);
  records_.push_back(std::move(record));
  flush(false);
  return state;
}

void IndexWriter::log_verdict(const AttemptRecord& record, const std::string& folder) {
  if (!is_logged(LogLevel::info)) return;
  const auto wall = record.metrics.find("wall_s");
  log_info(fmt::format("verdict {}: {}{}{}; {}", to_string(record.key), to_string(record.state),
                       record.reason ? ", " + *record.reason : "",
                       wall == record.metrics.end() ? "" : fmt::format(", wall_s {:.6g}", wall->second), claimed_by(folder)));
}

/// After the first run of a configuration, while the others can still be saved the time; once a metric, as they mostly share
/// what is wrong.
void IndexWriter::warn_of_missed_metrics(const AttemptRecord& record, const std::string& folder) {
  const ReadingRules* rules = reading_.find(record.key.config_id);
  if (rules == nullptr || record.state != State::succeeded || !watch_.succeeded.insert(record.key.config_id).second) return;
  for (const Metric& metric : rules->metrics) {
    if (record.metrics.contains(metric.name) || metric.source == "accounting") continue;  // Slurm's comes later
    if (!watch_.warned.insert(metric.name).second) continue;
    if (is_nan_metric(record, metric.name)) {
      if (!metric.is_formula()) warn_of_nan(record, metric.name);  // a formula's warning would repeat those of its metrics
      continue;
    }
    progress_.print(
        fmt::format("warning: {} has no value of the metric {}: {}\n  Mend it in `metrics`: the kept logs are then read "
                    "again, and no run is repeated.",
                    to_string(record.key), metric.name, explain_missed_metric(metric, folder)));
  }
}

void IndexWriter::warn_of_nan(const AttemptRecord& record, const std::string& metric) {
  const std::string begin = fmt::format("metric {}: ", metric);
  const auto told = std::find_if(record.warnings.begin(), record.warnings.end(),
                                 [&](const std::string& warning) { return warning.starts_with(begin); });
  progress_.print(fmt::format(
      "warning: {}: {} is nan{}\n  If no such run is a success, write `success: {{require: [{} < 1e300]}}`, "
      "or a limit that means more.",
      to_string(record.key), metric, told == record.warnings.end() ? "" : ": " + told->substr(begin.size()), metric));
}

void IndexWriter::tell_failure(const AttemptKey& attempt, State state, const AttemptRecord& record) {
  const std::string reason = record.reason.value_or("no reason known");
  if (record.is_void) {
    progress_.print(fmt::format("{} {}; its run gets another attempt", to_string(attempt), explain_void(reason)));
    return;
  }
  if (cancels_expected_ && state == State::cancelled) return;
  if (!watch_.failures.note_failure(attempt, state, reason)) return;
  if (watch_.kinds_told < kFailuresTold) {
    progress_.print(
        fmt::format("{} {}: {} ({}/{})", to_string(attempt), to_string(state), reason, results_, to_string(attempt)));
  } else if (watch_.kinds_told == kFailuresTold) {
    progress_.print("more runs do not succeed; `hpcbench status` lists them");
  }
  ++watch_.kinds_told;
}

void IndexWriter::note(const std::string& text) { progress_.print(text); }

void IndexWriter::flush(bool now) {
  if (!now && clock_.monotonic_s() - last_flush_s_ < kFlushInterval) return;
  last_flush_s_ = clock_.monotonic_s();
  // An attempt may be in both: its record, the later word, is written last.
  if (!states_.empty()) store_.put_states(experiment_, states_);
  if (!records_.empty()) store_.put(records_);
  states_.clear();
  records_.clear();
}

}  // namespace hpcbench
