#include "submit/judge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/log.hpp"
#include "runfiles/launch_error.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

Verdict judge_revoked(const std::string& why) {
  if (why.starts_with(kVoidPrefix)) return {JobState::ended, {}, State::cancelled, why, true};
  return {JobState::ended, {}, State::cancelled, why.empty() ? "revoked before it began" : why};
}

Verdict not_ended(const JobStatus& status, const std::string& job) {
  return {status.state, job, std::nullopt, is_active(status.state) ? status.out_of_reach : status.text};
}

/// `killed by signal 9`, `(exit status 1)`: what is known beyond its being gone.
std::string describe_gone(const std::string& folder, const Claim& claim, const std::string& word) {
  const std::string error = read_launch_error(folder);
  return fmt::format("{}{}{}",
                     !claim.process
                         ? "the job ended before it began"
                         : fmt::format("job {} on {} has gone and left no finished.json", claim.job, claim.process->host),
                     word.empty() ? "" : " (" + word + ")", error.empty() ? "" : ": " + error);
}

}  // namespace

std::string explain_void(std::string_view why) {
  if (why.starts_with(kVoidPrefix)) why.remove_prefix(kVoidPrefix.size());
  return fmt::format("never ran and does not count: {}", why);
}

bool has_finished(const std::string& folder) { return ::access((folder + "/finished.json").c_str(), F_OK) == 0; }

bool ended_badly(const std::string& folder) {
  const Finished finished = parse_finished(read_file_if_there(folder + "/finished.json").value_or(""));
  if (!finished.readable || finished.error || finished.never_began || finished.timed_out || finished.cancelled) return false;
  if (finished.signal) return true;
  const RunInfo info = parse_run_json(read_file_if_there(folder + "/run.json").value_or(""));
  return finished.exit_code && *finished.exit_code != info.success_exit_code;
}

bool has_run_json(const std::string& folder) { return ::access((folder + "/run.json").c_str(), F_OK) == 0; }

bool is_taken(const std::string& folder) { return ::access((folder + "/claim").c_str(), F_OK) == 0 || has_finished(folder); }

Seizure revoke_attempt(const std::string& why) {
  return {Claim{.revoked = true, .why = why, .token = {}, .job = {}, .process = {}}, judge_revoked(why)};
}

Seizure bury_attempt(const std::string& token, const std::string& job, const std::string& why) {
  return {Claim{.revoked = false, .why = {}, .token = token, .job = job, .process = {}},
          Verdict{JobState::ended, job, State::lost, why}};
}

Seizure seize_unbegun(const JobStatus& end, const std::string& token, const std::string& job, const std::string& why) {
  if (end.voids) return revoke_attempt(std::string(kVoidPrefix) + end.text);
  if (end.unclaimed == State::cancelled) return revoke_attempt(end.text);
  Seizure buried = bury_attempt(token, job, why);
  buried.verdict.outcome = end.unclaimed.value_or(State::lost);
  return buried;
}

void heed_executor(Verdict& verdict, const JobStatus& end) {
  const bool lost = verdict.outcome == State::lost;
  if (!lost || !end.outcome || end.job.empty() || verdict.job != end.job) return;
  verdict.outcome = *end.outcome;
  verdict.reason = end.text;
}

bool seize_attempt(const std::string& folder, const Seizure& seizure) {
  if (!try_claim(folder, seizure.claim)) return false;
  log_info(fmt::format("claimed {} in place of a job: {}", folder, seizure.verdict.reason));
  return true;
}

namespace {

/// The state of an attempt that was handed over and whose folder is gone. Its job makes the folder again when it ends; after
/// that no job is left to do so, and this process claims the attempt in a new folder.
std::optional<Verdict> judge_deleted(const std::string& folder, const std::string& job, const std::optional<std::string>& ended,
                                     Executor& executor) {
  if (!ended) {
    const JobStatus status = executor.status(folder, job);
    if (status.state != JobState::ended) return not_ended(status, job);
  }
  if (has_run_json(folder)) return std::nullopt;
  make_folders(folder);
  const Seizure lost = bury_attempt({}, job, "its folder was deleted after its job was submitted");
  return seize_attempt(folder, lost) ? std::optional(lost.verdict) : std::nullopt;
}

}  // namespace

Verdict judge_attempt(const std::string& folder, const std::string& job, const std::optional<std::string>& ended,
                      const Seizure& unclaimed, Executor& executor) {
  if (has_finished(folder)) return {JobState::ended};
  std::optional<Claim> claim = read_claim(folder);
  if (!claim && !has_run_json(folder)) {
    if (const std::optional<Verdict> deleted = judge_deleted(folder, job, ended, executor)) return *deleted;
    if (has_finished(folder)) return {JobState::ended};
    claim = read_claim(folder);
  }
  if (!claim && seize_attempt(folder, unclaimed)) return unclaimed.verdict;
  if (!claim) claim = read_claim(folder);
  if (!claim) return {JobState::unknown, job, std::nullopt, "its claim exists and cannot be read"};
  if (claim->revoked) return judge_revoked(claim->why);

  const std::string claimed_job = claim->job.empty() ? job : claim->job;
  JobStatus status{JobState::ended, ended.value_or("")};
  if (!ended) status = executor.status(folder, claimed_job);
  if (status.state != JobState::ended) return not_ended(status, claimed_job);
  // It may have written finished.json between our first look and its end.
  if (has_finished(folder)) return {JobState::ended};
  return {JobState::ended, claimed_job, State::lost, describe_gone(folder, *claim, status.text)};
}

}  // namespace hpcbench
