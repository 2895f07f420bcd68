#include "launch/job_script.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "launch/oom_count.hpp"
#include "launch/rank.hpp"
#include "launch/script_reports.hpp"
#include "launch/word_of_slurm.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/rank_binding.hpp"
#include "runfiles/rank_report.hpp"
#include "runfiles/try_mark.hpp"

namespace hpcbench {

namespace {

constexpr int kTries = 3;              // of job.sh, where srun could start no rank
constexpr double kTryPauseS = 1;       // before the second; twice that before the third
constexpr double kStepPatienceS = 60;  // a step that was killed has left the queue by then
constexpr double kLimitSlackS = 5;     // SIGTERM so near the time limit is the time limit

/// What mark_path says of a step of Slurm: `12.0`; other ranks are processes of ours.
bool is_step(const std::string& mark) { return !mark.empty() && mark.find('.') != std::string::npos; }

/// Whether what ended was what starts ranks, and not modules or setup before it: a shell has taken its name by `exec`. A
/// site's wrapper has another name, and srun's last words.
bool was_starter(const std::string& program, const std::string& folder) {
  if (program == "srun" || program == "mpirun") return true;
  const std::string words = output_tail(folder, 0).value_or("");
  return words.substr(words.rfind('\n') + 1).starts_with("srun: ");
}

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

JobScript::JobScript(std::string attempt_folder, std::string run_dir, RunInfo run, SlurmJobFacts job, Supervisor& supervisor,
                     double grace_s, const BlockPlace* block)
    : folder_(std::move(attempt_folder)),
      run_dir_(std::move(run_dir)),
      run_(std::move(run)),
      job_(std::move(job)),
      supervisor_(supervisor),
      grace_s_(grace_s),
      in_block_(block != nullptr),
      bindings_(in_block_ ? block->bindings : ""),
      begin_s_(monotonic_s()),
      warn_s_(run_.segment ? run_.segment->warn_s : std::nullopt) {}

std::string JobScript::try_folder() const { return fmt::format("{}/try{}", folder_, try_); }

bool JobScript::cancel_requested() const { return is_cancel_requested(folder_); }

bool JobScript::near_limit() const {
  return !in_block_ && run_.time_limit_s && monotonic_s() - begin_s_ >= *run_.time_limit_s - kLimitSlackS;
}

ProcessSpec JobScript::spec() const {
  EnvironmentChanges changes{{"HPCBENCH_TRY", try_folder()}, {"HPCBENCH_RUN", folder_ + "/run.json"}};
  changes["HPCBENCH_RUN_DIR"] = run_dir_;
  changes["MASTER_ADDR"] = address_;
  changes["MASTER_PORT"] = std::to_string(port_->number());
  if (in_block_) changes["HPCBENCH_NODELIST"] = job_.nodes;
  if (!bindings_.empty()) changes[kBindingsVariable] = bindings_;
  if (run_.saved_exit_code()) changes[kTrackerVariable] = process_tracker();
  changes["HPCBENCH_TOKEN"] = std::nullopt;
  // Or srun would start its tasks without our environment where sbatch was told not to take its own.
  changes["SLURM_EXPORT_ENV"] = std::nullopt;
  ProcessSpec spec;
  spec.argv = {"bash", folder_ + "/job.sh"};
  spec.environment = changed_environment(own_environment(), changes);
  spec.stdout_path = folder_ + "/stdout.log";
  spec.stderr_path = folder_ + "/stderr.log";
  spec.append = try_ > 1;
  spec.isolated = true;
  return spec;
}

/// In a block the run's time may be over while srun waits for a step, as after a controller that has lost one: that is no time
/// limit of the program, and the next run would wait as long.
bool JobScript::waited_in_vain() const {
  return in_block_ && supervisor_.so_far().timed_out && !supervisor_.so_far().cancelled_by && !cancel_requested();
}

SupervisionRules JobScript::rules() {
  SupervisionRules rules;
  rules.grace_s = grace_s_;
  rules.end = [this](int signal) { end_ranks(signal); };
  rules.warn_s = warn_s_;
  rules.warn = [this] { warn_ranks(); };
  rules.time_limit_s = limit_s_;
  if (!in_block_) return rules;
  rules.time_limit_s = run_.time_limit_s;
  rules.was_asked = [this] { return cancel_requested(); };
  return rules;
}

void JobScript::end_ranks(int signal) {
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

/// Before it has begun there is nothing to save.
void JobScript::warn_ranks() {
  const std::string step = step_of_try(try_folder());
  if (is_step(step)) {
    signal_step(step, "USR1");
  } else if (!step.empty()) {
    supervisor_.pass_on(SIGUSR1);
  }
}

/// A run that may be continued ends in good time, by our own clock: Slurm's warning comes up to a minute early.
void JobScript::find_limit() {
  if (in_block_ || !run_.saved_exit_code() || !run_.time_limit_s) return;
  const std::optional<double> left_s = time_left_s(job_);
  if (!left_s) return;
  limit_s_ = std::max(0.0, *left_s);
  if (warn_s_) warn_s_ = std::min(*warn_s_, *limit_s_ / 2);
}

/// Never srun itself: asked to end, it kills ranks before they can report.
void JobScript::end_step(const std::string& step, int signal) {
  if (killed_ && signal == SIGKILL) return supervisor_.signal_processes(signal);  // srun stays behind its step
  killed_ = signal == SIGKILL;
  signal_step(step, killed_ ? "KILL" : "TERM");
}

/// False if no rank began, and none will.
bool JobScript::run_try() {
  ++try_;
  make_folders(try_folder());
  std::optional<StartError> error;
  script_ = supervisor_.run({spec()}, rules(), error);
  if (close_try(try_folder())) return false;
  const std::string step = step_of_try(try_folder());
  const std::vector<RankReport> reports = read_rank_reports(try_folder(), run_.processes);
  if (is_step(step) && static_cast<int>(reports.size()) < run_.processes) await_step_end(job_, step, kStepPatienceS);
  return true;
}

ScriptEnd JobScript::run(StartedFacts started) {
  address_ = meeting_address(job_, run_.nodes);
  port_ = find_free_port();
  started.master_port = port_->number();
  find_limit();
  write_file(folder_ + "/started.json", started_json(started), Durability::none);
  ScriptEnd end;
  end.facts.host = job_.node;
  end.facts.time_limit_s = run_.time_limit_s;
  supervisor_.await_wish(0);
  bool begun = false;
  while (!asked_to_end() && try_ < kTries) {
    if (try_ > 0) supervisor_.await_wish(kTryPauseS * try_);
    if (asked_to_end()) break;
    begun = run_try();
    if (begun || !was_starter(script_.program, folder_) || refused_option(folder_)) break;
  }
  Supervision& supervision = end.facts.supervision;
  supervision.wall_s = monotonic_s() - begin_s_;
  if (begun) {
    end.broken =
        note_reports({try_folder(), folder_, run_.processes, run_.success_exit_code}, script_, asked_to_end(), end.facts);
  } else if (try_ > 0) {
    supervision.setup = script_end(script_, run_.success_exit_code);
    if (const std::optional<std::string> line = refused_option(folder_)) {
      end.facts.error = "no process was started, mend `srun`: " + *line;
    } else if (was_starter(script_.program, folder_)) {
      end.facts.never_began = end.broken = !asked_to_end() || waited_in_vain();
    } else {
      note_early_end({try_folder(), folder_, run_.processes, run_.success_exit_code}, script_);
    }
    end.facts.tail = output_tail(folder_, 0);
  } else {
    supervision.setup = ProcessEnd{.exit_code = {}, .signal = SIGTERM};  // nothing was started
  }
  const bool gives_way = await_word(end.facts);
  const Supervision& wishes = supervisor_.so_far();
  supervision.warned = wishes.warned;
  supervision.suspended_s = wishes.suspended_s;
  supervision.timed_out = (wishes.timed_out && !end.facts.never_began) || (wishes.cancelled_by && near_limit());
  if (supervision.timed_out && !begun && !was_starter(script_.program, folder_)) end.facts.error = kSetupTooLong;
  const bool failed = exit_status(supervision, run_.success_exit_code) != 0;
  if (!supervision.timed_out && cancel_requested() && (wishes.cancelled_by || failed)) {
    supervision.cancelled_by = SIGTERM;
  } else if (!supervision.timed_out && (wishes.cancelled_by || gives_way)) {
    note_stopped(folder_, gives_way ? kGaveWay : wishes.cancelled_by == SIGINT ? "INT" : "TERM", supervision.wall_s);
    end.stopped = true;
    return end;
  }
  ::unlink((folder_ + "/stopped").c_str());
  if (!bindings_.empty()) note_neighbours(end.facts);
  end.facts.files = event_file_sizes(folder_, run_dir_, run_.processes);
  return end;
}

/// The other runs of the block are on this node, too.
void JobScript::note_neighbours(FinishedFacts& facts) const {
  const std::vector<RankBinding> bindings = read_bindings(bindings_);
  const std::string run = attempt_path(folder_);
  const auto is_alive = [](int pid) { return identify_process(pid).has_value(); };
  if (std::string text = describe_binding(bindings, run); !text.empty()) facts.bound = std::move(text);
  if (const std::optional<Sharing> sharing = find_sharing(bindings, run, run_.shares_numa, is_alive))
    facts.shared = refusal_of(*sharing, run, job_.node);
}

/// Whether the run gave way to another job. One that has saved what it had goes on from there in any case.
bool JobScript::await_word(const FinishedFacts& facts) {
  const int status = exit_status(facts.supervision, run_.success_exit_code);
  if (asked_to_end() || status == 0 || facts.oom_kill.value_or(false)) return false;
  return await_word_of_slurm(supervisor_, job_, status) && status != run_.saved_exit_code() && !cancel_requested();
}

void JobScript::remove_tries() const {
  for (int number = 1; number <= try_; ++number) {
    std::error_code error;
    std::filesystem::remove_all(fmt::format("{}/try{}", folder_, number), error);
  }
}

}  // namespace hpcbench
