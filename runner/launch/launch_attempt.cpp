#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "launch/free_port.hpp"
#include "launch/hand_over.hpp"
#include "launch/job_script.hpp"
#include "launch/launch.hpp"
#include "launch/launch_block.hpp"
#include "launch/local_script.hpp"
#include "launch/merged_output.hpp"
#include "launch/monitor.hpp"
#include "launch/oom_count.hpp"
#include "launch/rank_environment.hpp"
#include "launch/script_reports.hpp"
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
#include "runfiles/run_description.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

constexpr double kSlurmGraceS = 10;  // from the request to end a step to its end; `hpcbench cancel` looks at jobs for 25 s

/// A new folder ./manual-TIME with a copy of run.json, and of the input decks.
std::string make_manual_folder(const std::string& run_json, const std::string& attempt_folder) {
  const RunInfo info = parse_run_json(run_json);
  constexpr int kTries = 1000;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  const std::string base = (std::filesystem::current_path() / fmt::format("manual-{:%Y%m%d-%H%M%S}", local)).string();
  for (int number = 1; number <= kTries; ++number) {
    const std::string folder = number == 1 ? base : fmt::format("{}-{}", base, number);
    if (::mkdir(folder.c_str(), kUserFolder) == 0) {
      write_file(folder + "/run.json", run_json, Durability::none);
      for (const std::string& name : info.decks) {
        const std::filesystem::path copy = std::filesystem::path(run_dir_of(folder, info)) / name;
        make_folders(copy.parent_path().string());
        write_file(copy.string(), read_file(run_dir_of(attempt_folder, info) + "/" + name), Durability::none);
      }
      return folder;
    }
    if (errno != EEXIST) throw UnavailableError(fmt::format("error: cannot create {}: {}", folder, std::strerror(errno)));
  }
  throw UnavailableError(fmt::format("error: cannot create {}: too many are there", base));
}

/// Where this job runs: the attempt's own folder, or a new one for a job by hand.
struct JobPlace {
  std::string attempt_folder;
  std::string job_folder;  // of logs and records
  std::string run_dir;     // in that

  bool by_hand() const { return attempt_folder != job_folder; }
};

/// A working directory below the attempt's folder is the job's own: below the job's folder, made if it is not there.
std::string job_workdir(const std::string& workdir, const JobPlace& place) {
  if (workdir.empty()) return workdir;
  const std::string own = place.attempt_folder + "/";
  if (workdir != place.attempt_folder && !workdir.starts_with(own)) return workdir;
  const std::string folder = place.job_folder + workdir.substr(place.attempt_folder.size());
  make_folders(folder);
  return folder;
}

EnvironmentChanges rank_changes(const RankLayout& layout, const JobPlace& place, int rank) {
  EnvironmentChanges changes = rank_variables(layout, rank);
  changes["HPCBENCH_RUN"] = place.job_folder + "/run.json";
  changes["HPCBENCH_RUN_DIR"] = place.run_dir;
  return changes;
}

/// The environment that the ranks have but for what tells them apart; what a set-up line makes of it stays.
std::vector<std::string> job_environment(const RunDescription& run, const RankLayout& layout, const JobPlace& place) {
  EnvironmentChanges changes = rank_changes(layout, place, 0);
  for (const char* const key : {"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "HPCBENCH_TOKEN"}) changes[key].reset();
  changes["OMP_NUM_THREADS"] = std::to_string(run.cpus_per_task);
  for (const auto& [name, value] : run.environment) changes[name] = value;
  return changed_environment(own_environment(), changes);
}

/// Rank 0's files are the job's: there goes the output of the set-up, too.
ProcessSpec process_spec(const JobPlace& place, int rank) {
  ProcessSpec spec;
  spec.rank = rank;
  spec.stdout_path = place.job_folder + "/" + rank_file("stdout", rank, ".log");
  spec.stderr_path = place.job_folder + "/" + rank_file("stderr", rank, ".log");
  spec.isolated = true;
  return spec;
}

/// Of ranks above 0; absent where each has files of its own. The file is a new one.
std::unique_ptr<MergedOutput> merged_output(const RunDescription& run, const JobPlace& place) {
  if (!run.merged_output || run.processes == 1) return nullptr;
  return std::make_unique<MergedOutput>(place.job_folder + "/" + kMergedOutput);
}

std::vector<ProcessSpec> rank_specs(const RunDescription& run, const RankLayout& layout, const JobPlace& place,
                                    const HandOver& state, MergedOutput* merged) {
  std::vector<ProcessSpec> specs;
  for (int rank = 0; rank < run.processes; ++rank) {
    EnvironmentChanges changes = rank_changes(layout, place, rank);
    if (run.setup) {  // which may have chosen others
      changes.erase("MASTER_ADDR");
      changes.erase("MASTER_PORT");
    }
    ProcessSpec spec = process_spec(place, rank);
    if (merged != nullptr && rank > 0) merge_output(spec, *merged);
    spec.argv = executed_argv(run);
    spec.environment = changed_environment(state.environment, changes);
    spec.workdir = state.workdir;
    spec.append = run.setup && rank == 0;
    if (run.setup) spec.file_mask = state.file_mask;
    spec.limits = state.limits;
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// What is ready to be started.
struct PreparedJob {
  RunDescription run;
  std::optional<FreePort> port;
  RankLayout layout;
  HandOver state;  // what the processes start with
  SupervisionRules rules;
};

PreparedJob prepare_job(const std::string& run_json, const JobPlace& place, double grace_s) {
  RunDescription run = describe_run(run_json, place.attempt_folder + "/run.json");
  make_folders(place.run_dir, place.by_hand() ? kUserFolder : kStudyFolder);
  if (place.by_hand()) {
    move_folder(run, run_dir_of(place.attempt_folder, parse_run_json(run_json)), place.run_dir);
    run.time_s.reset();  // a person waits as long as he likes
  }
  PreparedJob job;
  job.port = find_free_port();
  job.layout = {run.processes, processes_per_node(run.processes, run.nodes), job.port->number()};
  job.state.workdir = job_workdir(run.workdir, place);
  job.state.environment = job_environment(run, job.layout, place);
  job.rules = {.time_limit_s = run.time_s, .grace_s = grace_s, .good_exit_code = run.good_exit_code, .end = {}};
  job.rules.saved_exit_code = run.saved_exit_code;
  job.rules.warn_s = run.warn_s;
  job.run = std::move(run);
  return job;
}

/// Runs `modules` and `setup`, once for all ranks, which start with what they leave.
/// False: the job has ended with them, and `facts` says how.
bool run_setup(PreparedJob& job, const JobPlace& place, Supervisor& supervisor, FinishedFacts& facts) {
  if (!job.run.setup) return true;
  const Descriptor file = open_hand_over();
  ProcessSpec spec = process_spec(place, 0);
  spec.argv = {"bash", "-c", *job.run.setup};
  spec.environment = job.state.environment;
  spec.workdir = job.state.workdir;
  spec.hand_over_fd = file.get();
  std::optional<StartError> error;
  if (const std::optional<Supervision> ended = supervisor.prepare(spec, job.rules, error)) {
    facts.supervision = *ended;
    if (error) facts.error = error->text;
    if (ended->timed_out) facts.error = kSetupTooLong;
    return false;
  }
  std::optional<HandOver> state = read_hand_over(file);
  if (!state) {
    facts.supervision = supervisor.run({}, job.rules, error);  // what the set-up left running ends
    facts.error = "setup ended before the program was started";
    return false;
  }
  job.state = std::move(*state);
  return true;
}

void run_ranks(const PreparedJob& job, const JobPlace& place, Supervisor& supervisor, FinishedFacts& facts) {
  std::optional<StartError> error;
  MonitorRequest monitored{.interval_s = job.run.monitor_s, .folder = place.job_folder};
  if (job.run.gpus > 0) monitored.node_rank = 0;
  monitored.environment = job.state.environment;
  const Monitor monitor(monitored);
  const std::unique_ptr<MergedOutput> merged = merged_output(job.run, place);
  const std::vector<ProcessSpec> specs = rank_specs(job.run, job.layout, place, job.state, merged.get());
  if (merged) merged->start();
  facts.supervision = supervisor.run(specs, job.rules, error);
  if (merged) merged->finish();
  if (error) facts.error = error->text;
}

/// Attempts of earlier versions have a job.sh that claims by itself: what run.json says is started in its place.
void run_script(const PreparedJob& job, const JobPlace& place, double grace_s, Supervisor& supervisor, FinishedFacts& facts) {
  const LocalScript script{place.attempt_folder + "/job.sh", place.job_folder, job.state.environment, grace_s};
  run_local_script(script, job.run, supervisor, facts);
}

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

/// Starts the processes of an attempt that is ours, waits for them, and gathers what is to be said of them.
FinishedFacts run_job(const std::string& run_json, const JobPlace& place, StartedFacts started, double grace_s,
                      Supervisor& supervisor) {
  FinishedFacts facts;
  facts.host = started.process.host;
  PreparedJob job;
  try {
    job = prepare_job(run_json, place, grace_s);
  } catch (const std::exception& problem) {  // for good: the next try would meet the same
    facts.error = bare_text(problem);
    return facts;
  }
  started.master_port = job.layout.master_port;
  // Not synced: a crash of the host ends the job as well, and then nobody asks when it started.
  write_file(place.job_folder + "/started.json", started_json(started), Durability::none);
  const std::optional<long long> oom_kills = read_oom_kill_count();
  facts.time_limit_s = job.rules.time_limit_s;
  if (job.run.script) {
    run_script(job, place, grace_s, supervisor, facts);
  } else if (run_setup(job, place, supervisor, facts)) {
    run_ranks(job, place, supervisor, facts);
  }
  const std::optional<long long> oom_kills_after = read_oom_kill_count();
  facts.oom_kill.reset();
  if (oom_kills && oom_kills_after) facts.oom_kill = *oom_kills_after > *oom_kills;
  const std::optional<int> failed = facts.supervision.setup ? 0 : facts.supervision.first_failed_rank;
  if (failed && !facts.tail) facts.tail = output_tail(place.job_folder, *failed);
  facts.files = event_file_sizes(place.job_folder, place.run_dir, job.run.processes);
  return facts;
}

/// Whoever closed stderr does not want to hear it.
void say(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

/// A job outlives the terminal of whoever submitted it; a run by hand ends with its own.
Supervisor::Place prepare_signals(bool by_hand, bool in_slurm) {
  if (!by_hand) ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write that is too large is an error of that write
  ::signal(SIGPIPE, SIG_IGN);
  if (in_slurm) return Supervisor::Place::batch;
  return by_hand ? Supervisor::Place::foreground : Supervisor::Place::background;
}

/// Before the next run may begin: it may write the same files.
void keep_outside(const JobPlace& place, const std::string& run_json) {
  keep_outside_files(place.attempt_folder, place.run_dir,
                     parse_run_json(run_json).outside.value_or(std::vector<OutsideGlob>()));
}

/// Makes the attempt's folder again if its program deleted it: without a claim and an outcome the run would execute twice.
/// The attempt fails, as its output is gone.
void restore_deleted(const JobPlace& place, const std::string& run_json, const Claim& claim, FinishedFacts& facts) {
  const std::string path = place.attempt_folder + "/run.json";
  if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) return;
  make_folders(place.attempt_folder);
  write_file(path, run_json, Durability::durable);
  static_cast<void>(try_claim(place.attempt_folder, claim));  // false where the program left the claim
  if (facts.error) return;
  facts.error =
      "the attempt's folder was deleted while its program ran, and its output with it; a program may delete only what is in "
      "{{run_dir}}";
}

void write_finished(const JobPlace& place, const FinishedFacts& facts) {
  write_file(place.job_folder + "/finished.json", finished_json(facts), Durability::durable);
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
  RunDescription run;
  try {
    run = describe_run(run_json, place.attempt_folder + "/run.json");
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
  const int good_exit_code = run.good_exit_code;
  make_folders(place.run_dir);
  JobScript script(place.attempt_folder, place.run_dir, std::move(run), std::move(job), supervisor, kSlurmGraceS, block);
  ScriptEnd end = script.run(std::move(started));
  if (end.stopped) return {kSignalExitBase + SIGTERM, false};
  restore_deleted(place, run_json, own.claim, end.facts);
  keep_outside(place, run_json);
  write_finished(place, end.facts);
  script.remove_tries();
  return {exit_status(end.facts.supervision, good_exit_code), !end.broken, end.facts.shared};
}

/// One process, in the job's batch step. Where something else than `hpcbench cancel` ended the job, Slurm says what that was.
int prepare_in_slurm(const OwnAttempt& own, StartedFacts started, const SlurmJobFacts& job, int good_exit_code,
                     Supervisor& supervisor) {
  const JobPlace& place = own.place;
  const std::string& run_json = own.run_json;
  started.node = job.node;
  started.nodes = job.nodes;
  FinishedFacts facts = run_job(run_json, place, std::move(started), kSlurmGraceS, supervisor);
  const int ended = launch_status(facts, good_exit_code);
  bool gives_way = false;
  if (!supervisor.so_far().cancelled_by && ended != 0) gives_way = await_word_of_slurm(supervisor, job, ended);
  facts.supervision.cancelled_by = supervisor.so_far().cancelled_by;
  const bool ours = is_cancel_requested(place.attempt_folder);
  if (ours && !facts.supervision.timed_out && launch_status(facts, good_exit_code) != 0)
    facts.supervision.cancelled_by = SIGTERM;
  if ((facts.supervision.cancelled_by || gives_way) && !ours) {
    write_file(place.attempt_folder + "/stopped", gives_way ? std::string(kGaveWay) + "\n" : "TERM\n", Durability::durable);
    return kSignalExitBase + SIGTERM;
  }
  restore_deleted(place, run_json, own.claim, facts);
  write_finished(place, facts);
  return launch_status(facts, good_exit_code);
}

/// What a job was given when it was submitted.
struct Given {
  std::string token;  // empty: this is a run by hand
  std::string hash;
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

/// `block`: null where it is in none.
AttemptEnd run_attempt(const std::string& attempt_folder, const Given& given, double grace_s, const BlockPlace* block) {
  const std::string& token = given.token;
  JobPlace place;
  place.attempt_folder = std::filesystem::absolute(attempt_folder + "/.").lexically_normal().parent_path().string();
  place.job_folder = place.attempt_folder;
  const std::string run_json = read_file(place.attempt_folder + "/run.json");
  if (!given.hash.empty() && given.hash != hash_of_folder(place.attempt_folder, run_json))
    return refuse_changed(place.attempt_folder, token);
  const RunInfo info = parse_run_json(run_json);
  place.run_dir = run_dir_of(place.attempt_folder, info);
  const bool in_slurm = !token.empty() && executor_kind(info.executor).steps;
  // Before the claim: from then on a signal must not end us without finished.json.
  Supervisor supervisor(prepare_signals(token.empty(), in_slurm));
  StartedFacts started{.process = this_process(), .job = std::nullopt};
  SlurmJobFacts job = in_slurm ? slurm_job_facts() : SlurmJobFacts();
  if (!token.empty() && executor_kind(info.executor).described) {
    supervisor.expect_request([folder = place.attempt_folder] { return is_cancel_requested(folder); });
  }
  if (in_slurm && block == nullptr) supervisor.expect_limit([job] { return time_left_s(job).value_or(0); });
  if (in_slurm && supervisor.await_wish(0).cancelled_by) return {kSignalExitBase + SIGTERM, false};  // Slurm knows why
  if (!token.empty() && ::access((place.attempt_folder + "/claim").c_str(), F_OK) == 0) return {0, true};
  std::optional<Descriptor> life(std::in_place);
  if (!token.empty() && !in_slurm) life = take_life(place.attempt_folder);
  if (!life) return {0, true};  // another job is about to claim it
  Claim claim;
  if (!token.empty()) {
    const char* const given_job = std::getenv("HPCBENCH_JOB");  // of a batch system that a site describes
    started.job = !job.name.empty()                            ? job.name
                  : given_job != nullptr && *given_job != '\0' ? given_job
                                                               : std::to_string(started.process.pid);
    claim = {.revoked = false, .why = {}, .token = token, .job = *started.job, .process = started.process};
    if (!try_claim(place.attempt_folder, claim)) return {0, true};
  }
  const OwnAttempt own{place, run_json, claim};
  if (in_slurm && info.is_preparation) {
    return {prepare_in_slurm(own, std::move(started), job, info.success_exit_code, supervisor), true};
  }
  if (in_slurm) return run_in_slurm(own, started, std::move(job), block, supervisor);
  if (token.empty()) {
    place.job_folder = make_manual_folder(run_json, place.attempt_folder);
    place.run_dir = run_dir_of(place.job_folder, info);
    say("by hand: this run claims nothing and does not count; its output is in " + place.job_folder);
  }
  FinishedFacts facts = run_job(run_json, place, started, grace_s, supervisor);
  if (!token.empty()) {
    restore_deleted(place, run_json, claim, facts);
    keep_outside(place, run_json);
  }
  write_finished(place, facts);
  if (token.empty() && facts.error) say("error: " + *facts.error);
  return {launch_status(facts, info.success_exit_code), true};
}

/// What ends the launcher itself, as a full disk, is noted for hpcbench: its message may have no place either.
AttemptEnd run_or_note(const std::string& attempt_folder, const Given& given, double grace_s, const BlockPlace* block) {
  try {
    return run_attempt(attempt_folder, given, grace_s, block);
  } catch (const std::exception& problem) {
    if (!given.token.empty()) note_launch_error(attempt_folder, bare_text(problem));
    throw;
  }
}

}  // namespace

int launch_attempt(const std::string& attempt_folder, const std::string& token, const std::string& hash, double grace_s) {
  return run_or_note(attempt_folder, {token, hash}, grace_s, nullptr).status;
}

AttemptEnd launch_in_block(const std::string& attempt_folder, const std::string& token, const std::string& hash,
                           const BlockPlace& block) {
  return run_or_note(attempt_folder, {token, hash}, kEndingGraceS, &block);
}

std::vector<BatchAttempt> read_batch(const std::string& batch_folder, const std::string& hash) {
  const std::string path = batch_folder + "/" + (hash.empty() ? "attempts.txt" : kHashesFile);
  const std::string text = read_file(path);
  if (!hash.empty() && sha256_hex(text) != hash) {
    throw UnavailableError(fmt::format("error: {} changed after the batch was submitted; nothing of it is executed", path));
  }
  std::vector<BatchAttempt> attempts;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = hash.empty() ? std::string::npos : line.find(' ');
    if (line.empty() || (!hash.empty() && blank == std::string::npos)) continue;
    attempts.push_back(blank == std::string::npos ? BatchAttempt{line, ""}
                                                  : BatchAttempt{line.substr(blank + 1), line.substr(0, blank)});
  }
  return attempts;
}

int launch_batch(const std::string& batch_folder, const std::string& hash) {
  namespace fs = std::filesystem;
  const fs::path batch = fs::absolute(batch_folder + "/.").lexically_normal().parent_path();
  const std::size_t line = array_element("launch --batch");
  const std::vector<BatchAttempt> attempts = read_batch(batch.string(), hash);
  if (line >= attempts.size()) {
    throw UnavailableError(fmt::format("error: no attempt in line {} of {}", line + 1, (batch / "attempts.txt").string()));
  }
  return launch_attempt((batch.parent_path().parent_path() / attempts[line].path).string(), batch.filename().string(),
                        attempts[line].hash);
}

}  // namespace hpcbench
