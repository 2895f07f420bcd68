#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "submit/cancel_notice.hpp"
#include "submit/dispatcher.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr const char* kCancelledWhy = "cancelled before it began";
constexpr double kLookInterval = 1;  // seconds between looks if the executor sees nothing change

/// Settles what can be settled of an attempt whose job was asked to end. False while the job goes on.
bool settle_if_ended(const std::string& results, const CancelledJob& cancelled, Executor& executor, Events& events) {
  const std::string folder = results + "/" + to_string(cancelled.key);
  const JobStatus status = executor.status(folder, cancelled.job);
  const bool ended = status.state == JobState::ended;
  if (status.missing && !has_finished(folder)) {
    events.note(fmt::format("{}: its job{} is no longer known; `hpcbench run` settles it", to_string(cancelled.key),
                            cancelled.job.empty() ? "" : " " + cancelled.job));
    return true;
  }
  if (!ended && !has_finished(folder)) return false;
  if (has_finished(folder)) {
    events.ended(cancelled.key, std::nullopt, {});
  } else if (!executor.runs_here()) {
    events.note(to_string(cancelled.key) + ": its job has ended; `hpcbench run` settles it");
  } else {
    executor.cancel(folder, cancelled.job);  // a job that was killed may have left processes behind
    events.ended(cancelled.key, State::lost, "its job ended without finished.json after it was asked to end");
  }
  return true;
}

/// Ends one that may have begun, or settles it.
void end_begun(const std::string& results, const AttemptKey& key, Executor& executor, Events& events, CancelCounts& counts) {
  const std::string folder = results + "/" + to_string(key);
  const Verdict verdict = judge_attempt(folder, {}, std::nullopt, revoke_attempt(kCancelledWhy), executor);
  if (verdict.state == JobState::ended) {
    if (!executor.runs_here() && verdict.outcome == State::lost) {
      events.note(to_string(key) + ": its job has ended; `hpcbench run` settles it");
    } else {
      events.ended(key, verdict.outcome, verdict.reason);
    }
    return;
  }
  if (!is_active(verdict.state) || !verdict.reason.empty()) {
    events.note(to_string(key) + ": cannot be ended from here: " + verdict.reason + "; run `hpcbench cancel` there");
    ++counts.unseen;
    return;
  }
  log_info(fmt::format("asks job {} of {} to end", verdict.job, to_string(key)));
  executor.cancel(folder, verdict.job);
  counts.asked.push_back({key, verdict.job});
}

/// Where its files cannot be written, as on a full disk, that is said, and the others are ended all the same.
template <class Work>
bool or_note(const AttemptKey& key, Events& events, const Work& work) {
  try {
    work();
    return true;
  } catch (const UnavailableError& problem) {
    events.note(fmt::format("{}: {}; `hpcbench run` settles it once that is fixed", to_string(key), problem.what()));
    return false;
  }
}

}  // namespace

CancelCounts cancel_attempts(const std::string& results, const std::vector<AttemptState>& attempts, Executor& executor,
                             Events& events) {
  CancelCounts counts;
  std::vector<AttemptKey> begun;
  // Those that wait are revoked before any that runs is ended: else its slot would go to one of them.
  for (const AttemptState& attempt : attempts) {
    const std::string folder = results + "/" + to_string(attempt.key);
    if (is_outcome(attempt.state) || ::access(folder.c_str(), F_OK) != 0) continue;
    bool revoked = false;
    or_note(attempt.key, events,
            [&] { revoked = !has_finished(folder) && seize_attempt(folder, revoke_attempt(kCancelledWhy)); });
    if (!revoked) {
      begun.push_back(attempt.key);
      continue;
    }
    events.ended(attempt.key, State::cancelled, kCancelledWhy);
    executor.cancel(folder, {});  // its job may wait in a queue, or be about to claim
    ++counts.revoked;
  }
  for (const AttemptKey& key : begun)
    counts.unseen += or_note(key, events, [&] { end_begun(results, key, executor, events, counts); }) ? 0 : 1;
  executor.flush();
  leave_cancel_notice(results);
  return counts;
}

std::vector<CancelledJob> await_ends(const std::string& results, std::vector<CancelledJob> jobs, Executor& executor,
                                     Clock& clock, double patience_s, const std::function<bool()>& stop, Events& events) {
  const double end_s = clock.monotonic_s() + patience_s;
  for (const CancelledJob& job : jobs) executor.adopt(results + "/" + to_string(job.key), job.job);
  while (true) {
    std::erase_if(jobs, [&](const CancelledJob& job) {
      bool ended = true;
      or_note(job.key, events, [&] { ended = settle_if_ended(results, job, executor, events); });
      return ended;
    });
    const double left_s = end_s - clock.monotonic_s();
    if (jobs.empty() || left_s <= 0 || stop()) return jobs;
    executor.wait(std::min(left_s, kLookInterval));
  }
}

}  // namespace hpcbench
