#pragma once

#include <string>

#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

/// One start of an attempt's job.sh, of which the ranks report.
struct ScriptTry {
  std::string folder;      // where they report
  std::string job_folder;  // of their logs
  int processes = 1;
  int good_exit_code = 0;
};

/// FinishedFacts::error of a job that met its time limit before it had started a process.
inline constexpr const char* kSetupTooLong = "no process had started: `modules` and `setup` took all of the time";

/// How job.sh ended, where that is how the run ended: never well, as no rank says so.
ProcessEnd script_end(const Supervision& script, int good_exit_code);

/// Says in stderr.log that a job.sh that ended well had started nothing.
void note_early_end(const ScriptTry& attempt, const Supervision& script);

/// What the ranks report. Where one left no report and none says why, the run has failed, unless we were asked to end it.
/// True where that was not the program's doing, as far as anybody knows.
bool note_reports(const ScriptTry& attempt, const Supervision& script, bool asked_to_end, FinishedFacts& facts);

}  // namespace hpcbench
