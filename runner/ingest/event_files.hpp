#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// The rank whose events stand in a file of this name: `events.jsonl` is rank 0's, `events.R.jsonl` rank R's. Absent: in none.
std::optional<int> rank_of_event_file(std::string_view name);

/// The paths of an attempt's event files by rank, in the program's folder, else in the attempt's. Never throws: a folder that
/// cannot be read has none.
std::map<int, std::string> find_event_files(const std::string& attempt_folder, const std::string& run_dir);

/// What is missing of an event file that had `size` bytes when its job ended. Absent: nothing, or it is no event file. `file`:
/// its path.
std::optional<std::string> describe_missing_events(const std::string& file, long long size);

}  // namespace hpcbench
