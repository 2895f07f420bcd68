#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "launch/free_port.hpp"
#include "launch/job_script.hpp"
#include "launch/launch.hpp"
#include "launch/launch_job.hpp"
#include "launch/local_script.hpp"
#include "launch/oom_count.hpp"
#include "launch/supervisor.hpp"
#include "launch/word_of_slurm.hpp"
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

constexpr double kSlurmGraceS = 10;  // from the request to end a step to its end; `hpcbench cancel` looks at jobs for 25 s

/// The folders of the attempt that this job runs.
struct JobPlace {
  std::string folder;   // the attempt's
  std::string run_dir;  // in it: the program's
};

/// The exit code of `launch`: of a job that could start no process, too.
int launch_status(const FinishedFacts& facts, int good_exit_code) {
  return facts.error && !facts.supervision.timed_out ? kExitCannotStart : exit_status(facts.supervision, good_exit_code);
}

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

/// Runs an attempt that is ours on this machine, and gathers what is to be said of it.
FinishedFacts run_here(const std::string& run_json, const JobPlace& place, StartedFacts started, double grace_s,
                       Supervisor& supervisor) {
  FinishedFacts facts;
  facts.host = started.process.host;
  RunInfo run;
  std::optional<FreePort> port;
  try {
    run = startable_run(run_json, place.folder + "/run.json");
    require_ranks(place.folder);
    make_folders(place.run_dir);
    port = find_free_port();
  } catch (const std::exception& problem) {  // for good: the next try would meet the same
    facts.error = bare_text(problem);
    return facts;
  }
  started.master_port = port->number();
  // Not synced: a crash of the host ends the job as well, and then nobody asks when it started.
  write_file(place.folder + "/started.json", started_json(started), Durability::none);
  const std::optional<long long> oom_kills = read_oom_kill_count();
  run_local_script({place.folder, place.run_dir, port->number(), grace_s}, run, supervisor, facts);
  const std::optional<long long> oom_kills_after = read_oom_kill_count();
  facts.oom_kill.reset();
  if (oom_kills && oom_kills_after) facts.oom_kill = *oom_kills_after > *oom_kills;
  facts.files = event_file_sizes(place.folder, place.run_dir, run.processes);
  return facts;
}

/// A job outlives the terminal that it was submitted from.
Supervisor::Place prepare_signals(bool in_slurm) {
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write that is too large is an error of that write
  ::signal(SIGPIPE, SIG_IGN);
  return in_slurm ? Supervisor::Place::batch : Supervisor::Place::background;
}

/// Before the next run may begin: it may write the same files.
void keep_outside(const JobPlace& place, const std::string& run_json) {
  keep_outside_files(place.folder, place.run_dir, parse_run_json(run_json).outside.value_or(std::vector<OutsideGlob>()));
}

/// Makes the attempt's folder again if its program deleted it: without a claim and an outcome the run would execute twice.
/// The attempt fails, as its output is gone.
void restore_deleted(const JobPlace& place, const std::string& run_json, const Claim& claim, FinishedFacts& facts) {
  const std::string path = place.folder + "/run.json";
  if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) return;
  make_folders(place.folder);
  write_file(path, run_json, Durability::durable);
  static_cast<void>(try_claim(place.folder, claim));  // false where the program left the claim
  if (facts.error) return;
  facts.error =
      "the attempt's folder was deleted while its program ran, and its output with it; a program may delete only what is in "
      "{{run_dir}}";
}

void write_finished(const JobPlace& place, const FinishedFacts& facts) {
  write_file(place.folder + "/finished.json", finished_json(facts), Durability::durable);
}

/// An attempt that this process claimed.
struct OwnAttempt {
  const JobPlace& place;
  const std::string& run_json;
  const Claim& claim;
};

/// An attempt that is ours, in a job of Slurm.
AttemptEnd run_in_slurm(const OwnAttempt& own, StartedFacts started, SlurmJobFacts job, const BlockPlace* block,
                        Supervisor& supervisor) {
  const JobPlace& place = own.place;
  const std::string& run_json = own.run_json;
  RunInfo run;
  try {
    run = startable_run(run_json, place.folder + "/run.json");
  } catch (const InputError& problem) {  // for good: the next try would meet the same
    FinishedFacts facts;
    facts.host = job.node;
    facts.error = bare_text(problem);
    write_finished(place, facts);
    return {kExitCannotStart, true};
  }
  bool here = true;  // whether this node is one of the run's
  if (block != nullptr && static_cast<std::size_t>(run.nodes) < block->nodes.size()) {
    const auto end = block->nodes.begin() + run.nodes;
    here = std::find(block->nodes.begin(), end, job.node) != end;
    job.nodes = nodes_of_run(job.nodes, {block->nodes.begin(), end});
  }
  started.node = job.node;
  started.nodes = job.nodes;
  if (here) started.devices = list_gpus();
  const int good_exit_code = run.success_exit_code;
  make_folders(place.run_dir);
  JobScript script(place.folder, place.run_dir, std::move(run), std::move(job), supervisor, kSlurmGraceS, block);
  ScriptEnd end = script.run(std::move(started));
  if (end.stopped) return {kSignalExitBase + SIGTERM, false};
  restore_deleted(place, run_json, own.claim, end.facts);
  keep_outside(place, run_json);
  write_finished(place, end.facts);
  script.remove_tries();
  return {exit_status(end.facts.supervision, good_exit_code), !end.broken, end.facts.shared};
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
  if (!try_claim(folder, claim)) return {0, true};
  FinishedFacts facts;
  facts.host = self.host;
  facts.error = "run.json, job.sh or an input file changed after the attempt was submitted; nothing of it was executed";
  write_file(folder + "/finished.json", finished_json(facts), Durability::durable);
  return {kExitCannotStart, true};
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
  const JobPlace place{attempt_folder, run_dir_of(attempt_folder, info)};
  const ExecutorKind& executor = executor_kind(info.executor);
  // Before the claim: from then on a signal must not end us without finished.json.
  Supervisor supervisor(prepare_signals(executor.steps));
  SlurmJobFacts job = executor.steps ? slurm_job_facts() : SlurmJobFacts();
  if (executor.described) supervisor.expect_request([folder = place.folder] { return is_cancel_requested(folder); });
  if (executor.steps && block == nullptr) supervisor.expect_limit([job] { return time_left_s(job).value_or(0); });
  if (executor.steps && supervisor.await_wish(0).cancelled_by) return {kSignalExitBase + SIGTERM, false};  // Slurm knows why
  if (::access((place.folder + "/claim").c_str(), F_OK) == 0) return {0, true};
  std::optional<Descriptor> life(std::in_place);
  if (!executor.steps) life = take_life(place.folder);
  if (!life) return {0, true};  // another job is about to claim it
  StartedFacts started{.process = this_process(), .job = std::nullopt};
  started.job = job_name(job, started.process);
  const Claim claim{.revoked = false, .why = {}, .token = given.token, .job = *started.job, .process = started.process};
  if (!try_claim(place.folder, claim)) return {0, true};
  if (executor.steps) return run_in_slurm({place, run_json, claim}, started, std::move(job), block, supervisor);
  FinishedFacts facts = run_here(run_json, place, started, grace_s, supervisor);
  restore_deleted(place, run_json, claim, facts);
  keep_outside(place, run_json);
  write_finished(place, facts);
  return {launch_status(facts, info.success_exit_code), true};
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
