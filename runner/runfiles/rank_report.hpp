#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runfiles/process_end.hpp"

namespace hpcbench {

/// The report of a single rank on its process, in a file of its try's folder.
struct RankReport {
  ProcessEnd end;
  bool oom_kill = false;             // the count of its cgroup grew while it ran
  std::optional<std::string> error;  // why its program could not be started
  std::optional<std::string> tail;   // the last lines of its output, where it failed
};

std::string rank_report_json(const RankReport& report);
/// Absent if the text is no such report.
std::optional<RankReport> parse_rank_report(const std::string& text);

/// Writes the report of a rank, and of those that failed notes which was the first: `first_failed`, created once.
void write_rank_report(const std::string& try_folder, const RankReport& report, bool failed);

/// The reports of `processes` ranks that are there, by rank.
std::vector<RankReport> read_rank_reports(const std::string& try_folder, int processes);
/// The rank that failed first, of those that failed before they were asked to end.
std::optional<int> read_first_failed(const std::string& try_folder);

}  // namespace hpcbench
