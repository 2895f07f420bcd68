#include "launch/script_reports.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <set>
#include <vector>

#include "base/files.hpp"
#include "runfiles/rank_report.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kWordsBytes = 4096;

void append_line(const std::string& path, const std::string& line) {
  const Descriptor fd = open_study_file(path, O_APPEND);
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), line.data(), line.size());
}

/// A rank left no report, and none says why. False where we do: we were asked to end it, or its memory was too small.
bool note_unexplained(const ScriptTry& attempt, const Supervision& script, bool asked_to_end, FinishedFacts& facts) {
  std::set<int> known;
  for (const ProcessEnd& end : facts.supervision.processes) known.insert(end.rank);
  int missing = 0;
  while (known.contains(missing)) ++missing;
  facts.supervision.setup = script_end(script, attempt.good_exit_code);
  facts.tail = output_tail(attempt.job_folder, missing);
  if (!facts.tail) facts.tail = output_tail(attempt.job_folder, 0);
  const std::string words = read_tail(attempt.job_folder + "/stderr.log", kWordsBytes);
  facts.oom_kill = words.find("oom_kill") != std::string::npos || words.find("oom-kill") != std::string::npos;
  if (asked_to_end || *facts.oom_kill) return false;
  facts.supervision.first_failed_rank = missing;
  facts.error = fmt::format("rank {} left no report: it was killed, or its node has failed{}", missing,
                            facts.tail ? "; the last words: " + facts.tail->substr(facts.tail->rfind('\n') + 1) : "");
  return true;
}

}  // namespace

/// As shells have it: 128 + N is a death by signal N.
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

void note_early_end(const ScriptTry& attempt, const Supervision& script) {
  if (script.processes.empty()) return;
  const std::optional<int>& code = script.processes.front().exit_code;
  if (code != 0 && code != attempt.good_exit_code) return;
  append_line(attempt.job_folder + "/stderr.log", "hpcbench: setup ended before the program was started\n");
}

bool note_reports(const ScriptTry& attempt, const Supervision& script, bool asked_to_end, FinishedFacts& facts) {
  facts.oom_kill = false;
  bool failed = false;
  const std::vector<RankReport> reports = read_rank_reports(attempt.folder, attempt.processes);
  facts.supervision.first_failed_rank = read_first_failed(attempt.folder);
  for (const RankReport& report : reports) {
    facts.supervision.processes.push_back(report.end);
    failed = failed || report.end.exit_code != attempt.good_exit_code;
    if (report.oom_kill) facts.oom_kill = true;
    if (report.end.rank != facts.supervision.first_failed_rank) continue;
    facts.tail = report.tail;
    facts.error = report.error;
  }
  const bool missing = static_cast<int>(reports.size()) < attempt.processes;
  return missing && !failed && note_unexplained(attempt, script, asked_to_end, facts);
}

}  // namespace hpcbench
