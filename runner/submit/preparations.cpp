#include "submit/preparations.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "runfiles/attempt_hash.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/settled.hpp"
#include "submit/cancel_notice.hpp"

namespace hpcbench {

namespace {

constexpr int kTokenDigits = 16;
constexpr double kLook = 1;      // seconds between looks at commands that run
constexpr int kLooksAtEnd = 20;  // at those that were asked to end

std::string void_because(const std::string& why) { return std::string(kVoidPrefix) + why; }

}  // namespace

std::vector<std::string> Preparer::needed_folders(const PreparedInstance& instance) const {
  std::vector<std::string> folders;
  for (const std::size_t i : instance.needs) folders.push_back(context_.prepared.at(plan_.prepared[i].folder()).folder);
  return folders;
}

/// The folder with its run.json, and its batch, durably, before anybody can claim it.
std::string Preparer::write_attempt(std::size_t instance, int attempt, const std::string& batch) {
  const PreparedInstance& wanted = plan_.prepared[instance];
  const std::vector<CodeFile> inputs = input_files(experiment_.preparations[wanted.definition], context_.call_folder);
  const std::string folder = preparation_folder(context_.results, wanted, attempt);
  make_folders(context_.results + "/prepare/" + wanted.folder());
  if (::mkdir(folder.c_str(), kStudyFolder) != 0)
    throw UnavailableError(fmt::format("error: cannot create folder {}: {}", folder, std::strerror(errno)));
  const std::string run_json = preparation_json(experiment_, plan_, instance, attempt, inputs, batch, context_);
  const std::string hash = attempt_hash(run_json, "", {});
  if (!batch.empty()) {
    const std::string script = context_.results + "/" + batch_script_path(batch);
    make_folders(std::filesystem::path(script).parent_path().string());
    const std::string line = fmt::format("prepare/{}/a{}\n", wanted.folder(), attempt);
    const std::string hashes = hash + " " + line;
    const std::string batch_folder = context_.results + "/batches/" + batch + "/";
    write_file(batch_folder + "attempts.txt", line, Durability::none);
    write_file(batch_folder + kHashesFile, hashes, Durability::none);
    RenderContext context = context_;
    context.hashes_sha256 = sha256_hex(hashes);
    write_file(script, preparation_script(experiment_, plan_, instance, batch, context), Durability::none);
  }
  write_file(folder + "/run.json", run_json, Durability::durable);
  sync_file_system(context_.results);
  return hash;
}

/// False where the executor takes none for the time being.
bool Preparer::submit(std::size_t instance) {
  Active& attempt = active_.at(instance);
  if (executor_.free_slots() == 0) return false;
  const Submission submission = executor_.submit({attempt.token, 0, {attempt.folder}, {}, {attempt.hash}});
  if (submission.kind == Submission::Kind::later) return false;
  if (submission.kind == Submission::Kind::refused) {
    seize_attempt(attempt.folder, revoke_attempt(void_because("it was not submitted")));
    active_.erase(instance);
    throw UnavailableError(fmt::format("error: prepare.{}: {}", plan_.prepared[instance].name, submission.text));
  }
  if (submission.kind == Submission::Kind::doubtful) {
    note_(fmt::format("prepare: not known whether {} was submitted ({}); it is looked for", plan_.prepared[instance].name,
                      submission.text));
  } else if (!executor_.runs_here()) {
    note_(fmt::format("prepare: {} is submitted; its output goes to {}", plan_.prepared[instance].name, attempt.folder));
  }
  if (!submission.jobs.empty()) attempt.job = submission.jobs.front();
  attempt.submitted = true;
  return true;
}

void Preparer::begin(std::size_t instance, int attempt) {
  const PreparedInstance& wanted = plan_.prepared[instance];
  const bool own_job = !executor_.runs_here();
  Active begun{preparation_folder(context_.results, wanted, attempt), random_hex(kTokenDigits), {}, false};
  begun.hash = write_attempt(instance, attempt, own_job ? begun.token : "");
  if (!own_job) note_(fmt::format("prepare: {} begins; its output goes to {}", wanted.name, begun.folder));
  active_[instance] = std::move(begun);
}

/// An attempt of an earlier call without an end. What this machine does not run does not run; of jobs in a queue it takes time
/// to say that one is not there.
void Preparer::take_up(std::size_t instance, const std::string& folder) {
  Active found{folder, {}, {}};
  if (executor_.runs_here()) {
    const Seizure unclaimed = revoke_attempt(void_because("an earlier call ended before it began"));
    const Verdict verdict = judge_attempt(folder, {}, std::nullopt, unclaimed, executor_);
    if (verdict.kind == Verdict::Kind::unseen) {
      throw UnavailableError(fmt::format(
          "error: {} is being made where it cannot be seen from here ({}); call `hpcbench run` there, or wait until "
          "it has ended",
          folder, verdict.reason));
    }
    if (verdict.kind == Verdict::Kind::settled) write_settled(folder, {verdict.outcome, verdict.reason, std::nullopt});
    if (verdict.kind != Verdict::Kind::active) return;
    found.job = verdict.job;
  } else if (const std::optional<Claim> claim = read_claim(folder)) {
    found.job = claim->job;
  }
  executor_.adopt(folder, found.job);
  active_[instance] = std::move(found);
}

Seizure Preparer::if_unclaimed(const Active& attempt, const JobStatus& end) const {
  if (attempt.token.empty()) return revoke_attempt(void_because(end.text.empty() ? "its job is gone" : end.text));
  return seize_unbegun(end, attempt.token, attempt.job,
                       fmt::format("the job ended before it began{}{}", end.text.empty() ? "" : ": ", end.text));
}

/// The job has ended: where it left no end of its own, the executor's word is written down.
void Preparer::settle(const Active& attempt, const JobStatus& end) {
  Verdict verdict = judge_attempt(attempt.folder, attempt.job, end.text, if_unclaimed(attempt, end), executor_);
  if (verdict.kind != Verdict::Kind::settled) return;
  heed_executor(verdict, end);
  write_settled(attempt.folder, {verdict.outcome, verdict.reason, std::nullopt});
  log_info(fmt::format("{}: {}", attempt.folder, verdict.reason));
}

std::optional<PreparationStatus> Preparer::advance(std::size_t instance, bool& again) {
  const PreparedInstance& wanted = plan_.prepared[instance];
  while (interrupted() == 0) {
    if (const auto found = active_.find(instance); found != active_.end()) {
      if (!found->second.submitted && !submit(instance)) return std::nullopt;
      const JobStatus status = executor_.status(found->second.folder, found->second.job);
      if (status.kind == JobStatus::Kind::active) return std::nullopt;
      settle(found->second, status);
      active_.erase(found);
    }
    PreparationStatus status = preparation_status(context_.results, wanted, experiment_.retries.lost);
    const bool ended = is_outcome(status.state);
    const bool outdated = status.succeeded() && status.needs != needed_folders(wanted);
    if (status.state == State::submitted) {
      take_up(instance, status.folder);
    } else if (!ended || again || outdated) {
      if (executor_.free_slots() == 0) return std::nullopt;
      again = false;
      begin(instance, status.highest + 1);
    } else {
      if (status.succeeded()) context_.prepared[wanted.folder()] = {run_dir_of(status.folder), status.inputs};
      return status;
    }
  }
  return std::nullopt;
}

bool Preparer::is_submitted(std::size_t instance) const {
  const auto found = active_.find(instance);
  return found != active_.end() && found->second.submitted;
}

void Preparer::revoke_unsubmitted() {
  for (const auto& [instance, attempt] : active_) {
    if (!attempt.submitted) seize_attempt(attempt.folder, revoke_attempt(void_because("it was not submitted")));
  }
  std::erase_if(active_, [](const auto& entry) { return !entry.second.submitted; });
}

bool Preparer::end() {
  const auto any_active = [&] {
    return std::any_of(active_.begin(), active_.end(), [&](const auto& entry) {
      return executor_.status(entry.second.folder, entry.second.job).kind == JobStatus::Kind::active;
    });
  };
  for (const auto& [instance, attempt] : active_) executor_.cancel(attempt.folder, attempt.job);
  for (int looks = 0; looks < kLooksAtEnd && any_active(); ++looks) executor_.wait(kLook);
  return !active_.empty();
}

PreparationCancels cancel_preparations(const std::vector<std::string>& folders, const std::string& results, Executor& executor,
                                       Clock& clock) {
  PreparationCancels cancels;
  for (const std::string& folder : folders) {
    if (seize_attempt(folder, revoke_attempt("cancelled before it began"))) {
      executor.cancel(folder, {});  // its job may wait in a queue, or be about to claim
      ++cancels.revoked;
      continue;
    }
    // It says afterwards that a person ended it: without that another attempt would be made.
    request_cancel(folder);
    const std::optional<Claim> claim = read_claim(folder);
    const std::string job = claim ? claim->job : "";
    executor.adopt(folder, job);
    executor.cancel(folder, job);
    cancels.left.push_back(folder);
  }
  executor.flush();
  leave_cancel_notice(results);
  const double end_s = clock.monotonic_s() + executor.end_patience_s();
  const auto has_gone = [&](const std::string& folder) {
    return has_finished(folder) || executor.status(folder, {}).kind == JobStatus::Kind::ended;
  };
  while (true) {
    cancels.ended += static_cast<long long>(std::erase_if(cancels.left, has_gone));
    if (cancels.left.empty() || clock.monotonic_s() > end_s || interrupted() != 0) return cancels;
    executor.wait(kLook);
  }
}

}  // namespace hpcbench
