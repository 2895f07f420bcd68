#include "launch/step_script.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "launch/rank.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/rank_binding.hpp"
#include "runfiles/rank_report.hpp"
#include "runfiles/try_mark.hpp"

namespace hpcbench {

namespace {

constexpr double kGraceS = 10;         // from the request to end a step to its end; `hpcbench cancel` checks jobs for 25 s
constexpr int kTries = 3;              // of job.sh, where srun could start no rank
constexpr double kTryPauseS = 1;       // before the second; twice that before the third
constexpr double kStepPatienceS = 60;  // a step that was killed has left the queue by then
constexpr double kLimitSlackS = 5;     // SIGTERM so near the time limit is the time limit

// For a signal alone, of which the controller's word on the job says nothing (scancel --signal).
constexpr double kSignalledWaitS = 3;
constexpr double kFailedWaitS = 0.5;
constexpr double kWordComesS = 120;  // at KillWait, 30 s by default, nothing of the job is left to wait

/// What mark_path says of a step of Slurm: `12.0`; other ranks are processes of ours.
bool is_step(const std::string& mark) { return !mark.empty() && mark.find('.') != std::string::npos; }

/// The line in which srun refuses an option, as of the key `srun`: no other try would change that.
std::optional<std::string> refused_option(const std::string& folder) {
  for (const std::string& line : split(output_tail(folder, 0).value_or(""), '\n')) {
    const auto has = [&](std::string_view word) { return line.find(word) != std::string::npos; };
    const bool refuses = has("nvalid") || has("nrecognized");
    if (line.starts_with("srun: ") && refuses && (has("--") || has(" option"))) return line;
  }
  return std::nullopt;
}

/// Where it cannot be written Slurm's word has to do. `wall_s`: once all have ended, how long it took.
void note_stopped(const std::string& folder, const std::string& by, std::optional<double> wall_s = {}) {
  const std::string took = wall_s ? fmt::format("wall_s {:.6f}\n", *wall_s) : "";
  try {
    write_file(folder + "/stopped", by + "\n" + took, Durability::durable);
  } catch (const UnavailableError&) {
  }
}

}  // namespace

StepScript::StepScript(std::string attempt_folder, std::string run_dir, RunInfo run, SlurmJobFacts job, Supervisor& supervisor,
                       const BlockPlace* block)
    : JobScript(std::move(attempt_folder), std::move(run_dir), std::move(run), supervisor, kGraceS),
      job_(std::move(job)),
      in_block_(block != nullptr),
      bindings_(in_block_ ? block->bindings : ""),
      begin_s_(monotonic_s()),
      warn_s_(run_.segment ? run_.segment->warn_s : std::nullopt) {
  if (in_block_) choose_nodes(block->nodes);
  address_ = meeting_address(job_, run_.nodes);
  find_limit();
}

void StepScript::choose_nodes(const std::vector<std::string>& drawn) {
  if (static_cast<std::size_t>(run_.nodes) >= drawn.size()) return;
  const auto end = drawn.begin() + run_.nodes;
  is_here_ = std::find(drawn.begin(), end, job_.node) != end;
  job_.nodes = nodes_of_run(job_.nodes, {drawn.begin(), end});
}

/// A run that may be continued ends in good time, by our own clock: Slurm's warning comes up to a minute early.
void StepScript::find_limit() {
  if (in_block_ || !run_.saved_exit_code() || !run_.time_limit_s) return;
  const std::optional<double> left_s = time_left_s(job_);
  if (!left_s) return;
  limit_s_ = std::max(0.0, *left_s);
  if (warn_s_) warn_s_ = std::min(*warn_s_, *limit_s_ / 2);
}

void StepScript::add_facts(StartedFacts& started) const {
  JobScript::add_facts(started);
  started.node = job_.node;
  started.nodes = job_.nodes;
  if (is_here_) started.devices = list_gpus();
}

EnvironmentChanges StepScript::variables() const {
  EnvironmentChanges changes = JobScript::variables();
  changes["HPCBENCH_GRACE"] = std::nullopt;
  changes["MASTER_ADDR"] = address_;
  if (in_block_) changes["HPCBENCH_NODELIST"] = job_.nodes;
  if (!bindings_.empty()) changes[kBindingsVariable] = bindings_;
  if (run_.saved_exit_code()) changes[kTrackerVariable] = process_tracker();
  // Or srun would start its tasks without our environment where sbatch was told not to take its own.
  changes["SLURM_EXPORT_ENV"] = std::nullopt;
  return changes;
}

SupervisionRules StepScript::rules() {
  SupervisionRules rules = JobScript::rules();
  rules.grace_s = grace_s_;
  rules.warn_s = warn_s_;
  if (!in_block_) {
    rules.time_limit_s = limit_s_;
  } else {
    rules.was_asked = [this] { return cancel_requested(); };
  }
  return rules;
}

bool StepScript::cancel_requested() const { return is_cancel_requested(folder_); }

bool StepScript::asked_to_end() const { return JobScript::asked_to_end() || (in_block_ && cancel_requested()); }

bool StepScript::near_limit() const {
  return !in_block_ && run_.time_limit_s && monotonic_s() - begin_s_ >= *run_.time_limit_s - kLimitSlackS;
}

/// In a block the run's time may be over while srun waits for a step, as after a controller that has lost one: that is no time
/// limit of the program, and the next run would wait as long.
bool StepScript::waited_in_vain() const {
  return in_block_ && supervisor_.so_far().timed_out && !supervisor_.so_far().cancelled_by && !cancel_requested();
}

/// What ended was what starts ranks, and not modules or setup before it: a shell has taken its name by `exec`. A site's wrapper
/// has another name, and srun's last words.
bool StepScript::starter_failed() const {
  if (try_ == 0) return false;
  if (script_.program == "srun" || script_.program == "mpirun") return true;
  const std::string words = output_tail(folder_, 0).value_or("");
  return words.substr(words.rfind('\n') + 1).starts_with("srun: ");
}

bool StepScript::begins_try() {
  if (try_ == 0) {
    supervisor_.await_wish(0);
  } else if (try_ == kTries || asked_to_end() || !starter_failed() || refused_option(folder_)) {
    return false;
  } else {
    supervisor_.await_wish(kTryPauseS * try_);
  }
  return !asked_to_end();
}

void StepScript::end_ranks(int signal) {
  const bool told_by_slurm = supervisor_.so_far().cancelled_by && !(in_block_ && cancel_requested());
  const bool ours = supervisor_.so_far().timed_out || cancel_requested();
  // Should we be killed while we wait, this says that it was not the program's doing.
  if (told_by_slurm && !ours && !near_limit() && signal == SIGTERM) note_stopped(folder_, "TERM");
  if (signal == SIGKILL && !ours) return;  // who told us also knows for how long ranks may save their work
  const std::string step = step_of_try(try_folder());
  if (is_step(step)) {
    if (signal == SIGKILL || !told_by_slurm) end_step(step, signal);
  } else if (!step.empty() || close_try(try_folder())) {
    supervisor_.signal_processes(signal);  // processes of ours, or what would start them
  } else if (!told_by_slurm || signal == SIGKILL) {
    end_step(step_of_try(try_folder()), signal);  // it began in this very moment
  }
}

/// Never srun itself: asked to end, it kills ranks before they can report.
void StepScript::end_step(const std::string& step, int signal) {
  if (killed_ && signal == SIGKILL) return supervisor_.signal_processes(signal);  // srun stays behind its step
  killed_ = signal == SIGKILL;
  signal_step(step, killed_ ? "KILL" : "TERM");
}

void StepScript::warn_ranks() {
  const std::string step = step_of_try(try_folder());
  if (!is_step(step)) return JobScript::warn_ranks();
  signal_step(step, "USR1");
}

void StepScript::await_reports() {
  const std::string step = step_of_try(try_folder());
  if (!is_step(step)) return;
  const std::size_t reports = read_rank_reports(try_folder(), run_.processes).size();
  if (static_cast<int>(reports) < run_.processes) await_step_end(job_, step, kStepPatienceS);
}

/// After the run has failed, whether its job gives way to another one. What ends the whole job (scancel, its time limit,
/// preemption, a node that is shut down) may have reached the program before it reaches us: waits a moment for that word, and
/// where none has come but the controller says that the job is ending, until it comes; `so_far()` has it. Within the grace of a
/// preemption Slurm tells the job's steps alone. A run that saved what it had is continued in either case.
bool StepScript::await_word(const Supervision& supervision, bool oom_kill) {
  const int status = exit_status(supervision, run_.success_exit_code);
  if (asked_to_end() || status == 0 || oom_kill) return false;
  const Supervision& wishes = supervisor_.await_wish(status > kSignalExitBase ? kSignalledWaitS : kFailedWaitS);
  if (!wishes.timed_out && !wishes.cancelled_by && is_ending(job_)) supervisor_.await_wish(kWordComesS);
  if (wishes.timed_out || wishes.cancelled_by || !is_giving_way(job_)) return false;
  return status != run_.saved_exit_code() && !cancel_requested();
}

void StepScript::settle(AttemptEnd& end, bool begun) {
  FinishedFacts& facts = end.facts;
  const std::optional<std::string> refused = begun || try_ == 0 ? std::nullopt : refused_option(folder_);
  if (refused) {
    facts.error = "no process was started, fix `srun`: " + *refused;
  } else if (!begun && starter_failed()) {
    facts.never_began = end.broken = !asked_to_end() || waited_in_vain();
  }
  Supervision& supervision = facts.supervision;
  const bool gives_way = await_word(supervision, facts.oom_kill.value_or(false));
  const Supervision& wishes = supervisor_.so_far();
  supervision.timed_out = (wishes.timed_out && !facts.never_began) || (wishes.cancelled_by && near_limit());
  const bool failed = exit_status(supervision, run_.success_exit_code) != 0;
  if (!supervision.timed_out && cancel_requested() && (wishes.cancelled_by || failed)) {
    supervision.cancelled_by = SIGTERM;
  } else if (!supervision.timed_out && (wishes.cancelled_by || gives_way)) {
    note_stopped(folder_, gives_way ? kGaveWay : wishes.cancelled_by == SIGINT ? "INT" : "TERM", supervision.wall_s);
    end.stopped = true;
    return;
  }
  ::unlink((folder_ + "/stopped").c_str());
  if (!bindings_.empty()) note_neighbours(facts);
}

/// The other runs of the block are on this node, too.
void StepScript::note_neighbours(FinishedFacts& facts) const {
  const std::vector<RankBinding> bindings = read_bindings(bindings_);
  const std::string run = attempt_path(folder_);
  const auto is_alive = [](int pid) { return identify_process(pid).has_value(); };
  if (std::string text = describe_binding(bindings, run); !text.empty()) facts.bound = std::move(text);
  if (const std::optional<Sharing> sharing = find_sharing(bindings, run, run_.shares_numa, is_alive))
    facts.shared = refusal_of(*sharing, run, job_.node);
}

}  // namespace hpcbench
