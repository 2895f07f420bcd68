#include "launch/job_script.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "launch/oom_count.hpp"
#include "runfiles/rank_report.hpp"
#include "runfiles/try_mark.hpp"

namespace hpcbench {

namespace {

constexpr double kReportS = 2;  // what a starter whose ranks were killed has to report that
constexpr std::size_t kWordsBytes = 4096;

/// How job.sh ended, where that is how the run ended: never well, as no rank says so. As shells have it, 128 + N is a death by
/// signal N.
ProcessEnd script_end(const Supervision& script, int good_exit_code) {
  constexpr int kSignals = 64;
  ProcessEnd end = script.processes.empty() ? ProcessEnd{} : script.processes.front();
  if (!end.exit_code && !end.signal) end.exit_code = kExitCannotStart;
  if (end.exit_code == 0 || end.exit_code == good_exit_code) end.exit_code = 1;
  if (end.exit_code && *end.exit_code > kSignalExitBase && *end.exit_code <= kSignalExitBase + kSignals) {
    end.signal = *end.exit_code - kSignalExitBase;
    end.exit_code.reset();
  }
  return end;
}

void append_line(const std::string& path, const std::string& line) {
  const Descriptor fd = open_study_file(path, O_APPEND);
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), line.data(), line.size());
}

}  // namespace

JobScript::JobScript(std::string attempt_folder, std::string run_dir, RunInfo run, Supervisor& supervisor, double grace_s)
    : folder_(std::move(attempt_folder)),
      run_dir_(std::move(run_dir)),
      run_(std::move(run)),
      supervisor_(supervisor),
      grace_s_(grace_s),
      port_(find_free_port()) {}

std::string JobScript::try_folder() const { return fmt::format("{}/try{}", folder_, try_); }

void JobScript::add_facts(StartedFacts& started) const { started.master_port = port_.number(); }

EnvironmentChanges JobScript::variables() const {
  EnvironmentChanges changes{{"HPCBENCH_RUN", folder_ + "/run.json"},
                             {"HPCBENCH_RUN_DIR", run_dir_},
                             {"HPCBENCH_TRY", try_folder()},
                             {"HPCBENCH_GRACE", fmt::format("{:.3f}", grace_s_)},
                             {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", std::to_string(port_.number())}};
  // hpcbench may run within a rank of something else.
  for (const char* const key : {"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "HPCBENCH_TOKEN"}) changes[key] = std::nullopt;
  return changes;
}

ProcessSpec JobScript::spec() const {
  ProcessSpec spec;
  spec.argv = {"bash", folder_ + "/job.sh"};
  spec.environment = changed_environment(own_environment(), variables());
  spec.stdout_path = folder_ + "/stdout.log";
  spec.stderr_path = folder_ + "/stderr.log";
  spec.append = try_ > 1;
  spec.isolated = true;
  return spec;
}

SupervisionRules JobScript::rules() {
  SupervisionRules rules;
  rules.time_limit_s = run_.time_limit_s;
  rules.grace_s = grace_s_ + kReportS;
  if (run_.segment) rules.warn_s = run_.segment->warn_s;
  rules.warn = [this] { warn_ranks(); };
  rules.end = [this](int signal) { end_ranks(signal); };
  return rules;
}

/// Before the first rank has begun there is nothing to save.
void JobScript::warn_ranks() {
  if (!step_of_try(try_folder()).empty()) supervisor_.pass_on(SIGUSR1);  // to what starts ranks, no longer a shell
}

/// Until the first rank has begun, what runs is modules and setup: all of it is asked to end. Then it is the starter, which
/// ends its ranks and reports.
void JobScript::end_ranks(int signal) {
  if (signal == SIGKILL || close_try(try_folder())) {
    supervisor_.signal_processes(signal);
  } else {
    supervisor_.pass_on(signal);
  }
}

/// False if no rank began, and none will.
bool JobScript::run_try(FinishedFacts& facts) {
  ++try_;
  make_folders(try_folder());
  std::optional<StartError> error;
  script_ = supervisor_.run({spec()}, rules(), error);
  if (error) facts.error = error->text;
  return !close_try(try_folder());
}

AttemptEnd JobScript::run(StartedFacts started) {
  add_facts(started);
  // Not synced: a crash of the host ends the job as well, and then its start no longer matters.
  write_file(folder_ + "/started.json", started_json(started), Durability::none);
  AttemptEnd end;
  end.facts.host = started.node.value_or(started.process.host);
  end.facts.time_limit_s = run_.time_limit_s;
  oom_kills_ = read_oom_kill_count();
  bool begun = false;
  while (!begun && begins_try()) begun = run_try(end.facts);
  Supervision& supervision = end.facts.supervision;
  supervision.wall_s = script_.wall_s;
  if (begun) {
    await_reports();
    end.broken = note_reports(end.facts);
  } else {
    note_no_rank(end.facts);
  }
  settle(end, begun);
  if (end.stopped) return end;
  const Supervision& wishes = supervisor_.so_far();
  supervision.warned = wishes.warned;
  supervision.suspended_s = wishes.suspended_s;
  if (supervision.timed_out && !begun && !starter_failed())
    end.facts.error = "no process had started: `modules` and `setup` took all of the time";
  end.facts.files = event_file_sizes(folder_, run_dir_, run_.processes);
  return end;
}

void JobScript::settle(AttemptEnd& end, bool /*begun*/) {
  end.facts.supervision.timed_out = supervisor_.so_far().timed_out;
  end.facts.supervision.cancelled_by = supervisor_.so_far().cancelled_by;
  const std::optional<long long> oom_kills = read_oom_kill_count();
  end.facts.oom_kill.reset();
  if (oom_kills_ && oom_kills) end.facts.oom_kill = *oom_kills > *oom_kills_;
}

void JobScript::note_no_rank(FinishedFacts& facts) const {
  if (facts.error) return;  // there was no bash
  if (try_ == 0) {
    facts.supervision.setup = ProcessEnd{.exit_code = {}, .signal = SIGTERM};  // nothing was started
    return;
  }
  facts.supervision.setup = script_end(script_, run_.success_exit_code);
  const std::optional<int> code = script_.processes.empty() ? std::nullopt : script_.processes.front().exit_code;
  if ((code == 0 || code == run_.success_exit_code) && !starter_failed())
    append_line(folder_ + "/stderr.log", "hpcbench: setup ended before the program was started\n");
  facts.tail = output_tail(folder_, 0);
}

/// What the ranks report. Where one left no report and none says why, the run has failed, unless we were asked to end it.
/// True where the program did not cause that, as far as is known.
bool JobScript::note_reports(FinishedFacts& facts) const {
  facts.oom_kill = false;
  bool failed = false;
  const std::vector<RankReport> reports = read_rank_reports(try_folder(), run_.processes);
  facts.supervision.first_failed_rank = read_first_failed(try_folder());
  for (const RankReport& report : reports) {
    facts.supervision.processes.push_back(report.end);
    failed = failed || report.end.exit_code != run_.success_exit_code;
    if (report.oom_kill) facts.oom_kill = true;
    if (report.end.rank != facts.supervision.first_failed_rank) continue;
    facts.tail = report.tail;
    facts.error = report.error;
  }
  const bool missing = static_cast<int>(reports.size()) < run_.processes;
  return missing && !failed && note_unexplained(facts);
}

/// A rank left no report, and none says why. False where we do: we were asked to end it, or its memory was too small.
bool JobScript::note_unexplained(FinishedFacts& facts) const {
  std::set<int> known;
  for (const ProcessEnd& end : facts.supervision.processes) known.insert(end.rank);
  int missing = 0;
  while (known.contains(missing)) ++missing;
  facts.supervision.setup = script_end(script_, run_.success_exit_code);
  facts.tail = output_tail(folder_, missing);
  if (!facts.tail) facts.tail = output_tail(folder_, 0);
  const std::string words = read_tail(folder_ + "/stderr.log", kWordsBytes);
  facts.oom_kill = words.find("oom_kill") != std::string::npos || words.find("oom-kill") != std::string::npos;
  if (asked_to_end() || *facts.oom_kill) return false;
  facts.supervision.first_failed_rank = missing;
  facts.error = fmt::format("rank {} left no report: it was killed, or its node has failed{}", missing,
                            facts.tail ? "; the last words: " + facts.tail->substr(facts.tail->rfind('\n') + 1) : "");
  return true;
}

void JobScript::remove_tries() const {
  for (int number = 1; number <= try_; ++number) {
    std::error_code error;
    std::filesystem::remove_all(fmt::format("{}/try{}", folder_, number), error);
  }
}

}  // namespace hpcbench
