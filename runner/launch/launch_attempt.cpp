#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "launch/launch.hpp"
#include "launch/launch_job.hpp"
#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/attempt_hash.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/launch_error.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/life.hpp"
#include "runfiles/outside_files.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

/// An attempt that this process claimed.
struct OwnAttempt {
  std::string folder;
  std::string run_dir;  // the program's
  std::string run_json;
  Claim claim;
};

/// The text of an exception for finished.json: the word "error" is said by whoever prints it.
std::string bare_text(const std::exception& problem) {
  constexpr std::string_view kPrefix = "error: ";
  const std::string_view text = problem.what();
  return std::string(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
}

/// The job.sh of early versions claimed the attempt itself, or was for people alone.
void require_ranks(const std::string& attempt_folder) {
  const std::optional<std::string> script = read_file_if_there(attempt_folder + "/job.sh");
  if (script && script->find(" rank ") != std::string::npos) return;
  throw InputError("error: an early version made this attempt: its job.sh starts no ranks. `hpcbench retry` makes a new one");
}

/// A job outlives the terminal that it was submitted from.
Supervisor::Place prepare_signals(bool in_slurm) {
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write that is too large is an error of that write
  ::signal(SIGPIPE, SIG_IGN);
  return in_slurm ? Supervisor::Place::batch : Supervisor::Place::background;
}

/// Makes the attempt's folder again if its program deleted it: without a claim and an outcome the run would execute twice.
/// The attempt fails, as its output is gone.
void restore_deleted(const OwnAttempt& own, FinishedFacts& facts) {
  const std::string path = own.folder + "/run.json";
  if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) return;
  make_folders(own.folder);
  write_file(path, own.run_json, Durability::durable);
  static_cast<void>(try_claim(own.folder, own.claim));  // false where the program left the claim
  if (facts.error) return;
  facts.error =
      "the attempt's folder was deleted while its program ran, and its output with it; a program may delete only what is in "
      "{{run_dir}}";
}

void write_finished(const std::string& folder, const FinishedFacts& facts) {
  write_file(folder + "/finished.json", finished_json(facts), Durability::durable);
}

/// job.sh of an attempt that is ours. `job`: of Slurm; null: its ranks are processes of this machine. InputError where it can
/// never be started: another attempt would fail the same way. UnavailableError without a folder or a port.
std::unique_ptr<JobScript> prepare_script(const OwnAttempt& own, const SlurmJobFacts* job, double grace_s,
                                          const BlockPlace* block, Supervisor& supervisor) {
  RunInfo run = startable_run(own.run_json, own.folder + "/run.json");
  require_ranks(own.folder);
  make_folders(own.run_dir);
  if (job == nullptr) return std::make_unique<JobScript>(own.folder, own.run_dir, std::move(run), supervisor, grace_s);
  return std::make_unique<StepScript>(own.folder, own.run_dir, std::move(run), *job, supervisor, block);
}

/// Runs an attempt that is ours, and writes finished.json last of all; not where a scheduler's word has to say how it ended.
AttemptEnd run_own(const OwnAttempt& own, const RunInfo& run, StartedFacts started, const SlurmJobFacts* job, double grace_s,
                   const BlockPlace* block, Supervisor& supervisor) {
  AttemptEnd end;
  end.facts.host = job != nullptr ? job->node : started.process.host;
  std::unique_ptr<JobScript> script;
  try {
    script = prepare_script(own, job, grace_s, block, supervisor);
  } catch (const InputError& problem) {
    end.facts.error = bare_text(problem);
  }
  if (script) end = script->run(std::move(started));
  if (end.stopped) {
    end.status = kSignalExitBase + SIGTERM;
    return end;
  }
  restore_deleted(own, end.facts);
  // Before the next run may begin: it may write the same files.
  keep_outside_files(own.folder, own.run_dir, run.outside.value_or(std::vector<OutsideGlob>()));
  write_finished(own.folder, end.facts);
  if (script) script->remove_tries();
  end.status = exit_status(end.facts.supervision, run.success_exit_code);
  if (end.status == 0 && end.facts.error) end.status = kExitCannotStart;
  return end;
}

/// What a job was given when it was submitted.
struct Given {
  std::string token, hash;
};

/// Claims an attempt whose files are not those that were submitted, and lets it fail.
AttemptEnd refuse_changed(const std::string& folder, const std::string& token) {
  const ProcessIdentity self = this_process();
  const SlurmJobFacts job = std::getenv("SLURM_JOB_ID") != nullptr ? slurm_job_facts() : SlurmJobFacts();
  Claim claim;
  claim.token = token;
  claim.job = job.name.empty() ? std::to_string(self.pid) : job.name;
  claim.process = self;
  AttemptEnd end;
  if (!try_claim(folder, claim)) return end;
  end.facts.host = self.host;
  end.facts.error = "run.json, job.sh or an input file changed after the attempt was submitted; nothing of it was executed";
  write_finished(folder, end.facts);
  end.status = kExitCannotStart;
  return end;
}

/// The job's name: of Slurm, of a batch system that a site describes, or of this process.
std::string job_name(const SlurmJobFacts& job, const ProcessIdentity& self) {
  if (!job.name.empty()) return job.name;
  const char* const given = std::getenv("HPCBENCH_JOB");
  return given != nullptr && *given != '\0' ? given : std::to_string(self.pid);
}

/// `block`: null where it is in none.
AttemptEnd run_attempt(const std::string& attempt_folder, const Given& given, double grace_s, const BlockPlace* block) {
  const std::string run_json = read_file(attempt_folder + "/run.json");
  if (!given.hash.empty() && given.hash != hash_of_folder(attempt_folder, run_json))
    return refuse_changed(attempt_folder, given.token);
  const RunInfo info = parse_run_json(run_json);
  const ExecutorKind& executor = executor_kind(info.executor);
  // Before the claim: from then on a signal must not end us without finished.json.
  Supervisor supervisor(prepare_signals(executor.steps));
  const SlurmJobFacts job = executor.steps ? slurm_job_facts() : SlurmJobFacts();
  if (executor.described) supervisor.expect_request([attempt_folder] { return is_cancel_requested(attempt_folder); });
  if (executor.steps && block == nullptr) supervisor.expect_limit([job] { return time_left_s(job).value_or(0); });
  AttemptEnd end;
  if (executor.steps && supervisor.await_wish(0).cancelled_by) {  // Slurm knows why
    end.status = kSignalExitBase + SIGTERM;
    end.stopped = true;
    return end;
  }
  if (::access((attempt_folder + "/claim").c_str(), F_OK) == 0) return end;
  std::optional<Descriptor> life(std::in_place);
  if (!executor.steps) life = take_life(attempt_folder);
  if (!life) return end;  // another job is about to claim it
  StartedFacts started{.process = this_process(), .job = std::nullopt};
  started.job = job_name(job, started.process);
  const OwnAttempt own{attempt_folder,
                       run_dir_of(attempt_folder, info),
                       run_json,
                       {.revoked = false, .why = {}, .token = given.token, .job = *started.job, .process = started.process}};
  if (!try_claim(own.folder, own.claim)) return end;
  return run_own(own, info, std::move(started), executor.steps ? &job : nullptr, grace_s, block, supervisor);
}

/// What ends the launcher itself, as a full disk, is noted for hpcbench: its message may have no place either.
AttemptEnd run_or_note(const std::string& attempt_folder, const Given& given, double grace_s, const BlockPlace* block) {
  const std::string folder = std::filesystem::absolute(attempt_folder + "/.").lexically_normal().parent_path().string();
  try {
    return run_attempt(folder, given, grace_s, block);
  } catch (const std::exception& problem) {
    note_launch_error(folder, bare_text(problem));
    throw;
  }
}

/// Becomes bash with job.sh, which makes a folder of its own. Returns only where that fails.
int run_by_hand(const std::string& attempt_folder) {
  const std::string script = attempt_folder + "/job.sh";
  if (::access(script.c_str(), R_OK) != 0)
    throw UnavailableError(fmt::format("error: cannot read {}: {}", script, std::strerror(errno)));
  ::execlp("bash", "bash", script.c_str(), static_cast<char*>(nullptr));
  throw UnavailableError(fmt::format("error: cannot start bash: {}", std::strerror(errno)));
}

}  // namespace

int launch_attempt(const std::string& attempt_folder, const std::string& token, const std::string& hash, double grace_s) {
  if (token.empty()) return run_by_hand(attempt_folder);
  return run_or_note(attempt_folder, {token, hash}, grace_s, nullptr).status;
}

AttemptEnd launch_in_block(const std::string& attempt_folder, const std::string& token, const std::string& hash,
                           const BlockPlace& block) {
  return run_or_note(attempt_folder, {token, hash}, kEndingGraceS, &block);
}

}  // namespace hpcbench
