#include "launch/local_script.hpp"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/environment.hpp"
#include "base/files.hpp"
#include "launch/script_reports.hpp"
#include "runfiles/try_mark.hpp"

namespace hpcbench {

namespace {

constexpr double kReportS = 2;  // what a starter whose ranks were killed has to report that

ProcessSpec script_spec(const LocalScript& script, const std::string& try_folder) {
  EnvironmentChanges changes{{"HPCBENCH_RUN", script.folder + "/run.json"},
                             {"HPCBENCH_RUN_DIR", script.run_dir},
                             {"HPCBENCH_TRY", try_folder},
                             {"HPCBENCH_GRACE", fmt::format("{:.3f}", script.grace_s)},
                             {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", std::to_string(script.master_port)}};
  // hpcbench may run within a rank of something else.
  for (const char* const key : {"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "HPCBENCH_TOKEN"}) changes[key] = std::nullopt;
  ProcessSpec spec;
  spec.argv = {"bash", script.folder + "/job.sh"};
  spec.environment = changed_environment(own_environment(), changes);
  spec.stdout_path = script.folder + "/stdout.log";
  spec.stderr_path = script.folder + "/stderr.log";
  spec.isolated = true;
  return spec;
}

/// Until the first rank has begun, what runs is modules and setup: all of it is asked to end. Then it is the starter, which
/// ends its ranks and reports.
SupervisionRules script_rules(const LocalScript& script, const RunInfo& run, const std::string& try_folder,
                              Supervisor& supervisor) {
  SupervisionRules rules;
  rules.time_limit_s = run.time_limit_s;
  rules.grace_s = script.grace_s + kReportS;
  if (run.segment) rules.warn_s = run.segment->warn_s;
  rules.warn = [&supervisor, try_folder] {
    if (!step_of_try(try_folder).empty()) supervisor.pass_on(SIGUSR1);  // to what starts ranks, no longer a shell
  };
  rules.end = [&supervisor, try_folder](int signal) {
    if (signal == SIGKILL || close_try(try_folder)) {
      supervisor.signal_processes(signal);
    } else {
      supervisor.pass_on(signal);
    }
  };
  return rules;
}

}  // namespace

void run_local_script(const LocalScript& script, const RunInfo& run, Supervisor& supervisor, FinishedFacts& facts) {
  const ScriptTry attempt{script.folder + "/try1", script.folder, run.processes, run.success_exit_code};
  make_folders(attempt.folder);
  std::optional<StartError> error;
  const Supervision ended =
      supervisor.run({script_spec(script, attempt.folder)}, script_rules(script, run, attempt.folder, supervisor), error);
  facts.time_limit_s = run.time_limit_s;
  facts.supervision.wall_s = ended.wall_s;
  facts.supervision.timed_out = ended.timed_out;
  facts.supervision.warned = ended.warned;
  facts.supervision.cancelled_by = ended.cancelled_by;
  if (error) {
    facts.error = error->text;
  } else if (close_try(attempt.folder)) {
    facts.supervision.setup = script_end(ended, run.success_exit_code);
    note_early_end(attempt, ended);
    facts.tail = output_tail(script.folder, 0);
    if (ended.timed_out) facts.error = kSetupTooLong;
  } else {
    note_reports(attempt, ended, ended.timed_out || ended.cancelled_by, facts);
  }
  std::error_code ignored;
  std::filesystem::remove_all(attempt.folder, ignored);
}

}  // namespace hpcbench
