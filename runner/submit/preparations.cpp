#include "submit/preparations.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "runfiles/settled.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr int kTokenDigits = 16;
constexpr double kPreparationLook = 1;  // seconds between looks at a command that runs
constexpr int kLooksAfterCancel = 20;   // at one that was asked to end

}  // namespace

std::vector<std::string> Preparer::needed_folders(const PreparedInstance& instance) const {
  std::vector<std::string> folders;
  for (const std::size_t i : instance.needs) folders.push_back(context_.prepared.at(plan_.prepared[i].folder()).folder);
  return folders;
}

/// The folder with its run.json, durably, before anybody can claim it; then `launch`, in a session of its own.
std::string Preparer::begin(std::size_t instance, int attempt) {
  const PreparedInstance& wanted = plan_.prepared[instance];
  const std::vector<CodeFile> inputs = input_files(experiment_.preparations[wanted.definition], context_.call_folder);
  const std::string folder = preparation_folder(context_.results, wanted, attempt);
  make_folders(context_.results + "/prepare/" + wanted.folder());
  if (::mkdir(folder.c_str(), 0777) != 0)
    throw UnavailableError(fmt::format("error: cannot create folder {}: {}", folder, std::strerror(errno)));
  write_file(folder + "/run.json", preparation_json(experiment_, plan_, instance, attempt, inputs, context_),
             Durability::durable);
  sync_file_system(context_.results);
  note_(fmt::format("prepare: {} begins; its output goes to {}", wanted.name, folder));
  token_ = random_hex(kTokenDigits);
  const Submission submission = executor_.submit({token_, 0, {folder}});
  if (submission.jobs.empty()) throw UnavailableError(fmt::format("error: prepare.{}: {}", wanted.name, submission.text));
  job_ = submission.jobs.front();
  return folder;
}

/// Until the job of an attempt has ended; false if a signal came first, and the job was asked to end.
bool Preparer::await(const std::string& folder) {
  int looks_left = kLooksAfterCancel;
  bool cancelled = false;
  while (executor_.status(folder, job_).kind == JobStatus::Kind::active) {
    if (interrupted() != 0 && !cancelled) executor_.cancel(folder, job_);
    cancelled = cancelled || interrupted() != 0;
    if (cancelled && looks_left-- == 0) break;
    executor_.wait(kPreparationLook);
  }
  return !cancelled;
}

/// An attempt without an end: of this call, or of an earlier one.
void Preparer::take_over(const std::string& folder) {
  const bool ours = !token_.empty();
  const Seizure unclaimed = ours ? bury_attempt(token_, job_, "the job ended before it began")
                                 : revoke_attempt(fmt::format("{}an earlier call ended before it began", kVoidPrefix));
  const Verdict verdict = judge_attempt(folder, job_, std::nullopt, unclaimed, executor_);
  switch (verdict.kind) {
    case Verdict::Kind::unseen:
      throw UnavailableError(fmt::format(
          "error: {} is being made where it cannot be seen from here ({}); call `hpcbench run` there, or wait until "
          "it has ended",
          folder, verdict.reason));
    case Verdict::Kind::active:
      executor_.adopt(folder, verdict.job);
      break;
    case Verdict::Kind::settled:
      write_settled(folder, {verdict.outcome, verdict.reason, std::nullopt});
      log_info(fmt::format("{}: {}", folder, verdict.reason));
      break;
    case Verdict::Kind::finished:
    case Verdict::Kind::voided:
      break;
  }
}

std::optional<PreparationStatus> Preparer::make(std::size_t instance, bool again) {
  using Kind = PreparationStatus::Kind;
  const PreparedInstance& wanted = plan_.prepared[instance];
  token_.clear();
  job_.clear();
  while (interrupted() == 0) {
    PreparationStatus status = preparation_status(context_.results, wanted, experiment_.retries.lost);
    const bool ended = status.kind == Kind::succeeded || status.kind == Kind::failed;
    const bool outdated = status.succeeded() && status.needs != needed_folders(wanted);
    if (status.kind == Kind::unfinished) {
      take_over(status.folder);
      if (!await(status.folder)) return std::nullopt;
    } else if (!ended || again || outdated) {
      again = false;
      if (!await(begin(instance, status.highest + 1))) return std::nullopt;
    } else {
      if (status.succeeded()) context_.prepared[wanted.folder()] = {status.folder, status.inputs};
      return status;
    }
  }
  return std::nullopt;
}

}  // namespace hpcbench
