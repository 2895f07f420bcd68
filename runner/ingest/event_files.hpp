#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// The rank whose events stand in a file of this name: `events.jsonl` is rank 0's, `events.R.jsonl` rank R's. Absent: in none.
std::optional<int> rank_of_event_file(std::string_view name);

/// The names of an attempt's event files with their ranks, in the order of these. Never throws: a folder that cannot be read
/// has none.
std::vector<std::pair<int, std::string>> find_event_files(const std::string& attempt_folder);

/// What is missing of an event file that had `size` bytes when its job ended; absent: nothing, or it is no event file.
std::optional<std::string> describe_missing_events(const std::string& attempt_folder, const std::string& name, long long size);

}  // namespace hpcbench
