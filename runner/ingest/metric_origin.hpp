#pragma once

#include <string>
#include <vector>

#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// Where a number of an attempt stands: `events.jsonl:17 (run_end)`,
/// `trainer_state.json:12`, `finished.json`; what reading the attempt noted
/// (AttemptRecord::places), else the event that has this value, else the last
/// that has the name, else the launcher's record. Empty if it stands in none of
/// these files.
std::string metric_origin(const AttemptRecord& record, const std::string& folder, const std::string& metric);

/// The program and its arguments as one line that a shell reads, from run.json;
/// empty where it says none.
std::string command_line_of(const std::string& folder);

/// Of an imported run: the files that it was taken from, each with its hash.
std::vector<std::string> imported_sources(const std::string& folder);

}  // namespace hpcbench
