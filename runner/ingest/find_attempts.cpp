#include <algorithm>
#include <filesystem>

#include "ingest/attempt_record.hpp"

namespace hpcbench {

namespace {

/// Names of the folders in a folder; none if it cannot be read. The directory entry's type saves a stat of each.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) names.push_back(entry->path().filename().string());
  }
  return names;
}

}  // namespace

std::vector<AttemptKey> find_attempts(const std::string& results) {
  std::vector<AttemptKey> keys;
  for (const std::string& configuration : folders_in(results)) {
    for (const std::string& run : folders_in(results + '/' + configuration)) {
      if (!parse_run_name(run)) continue;
      for (const std::string& attempt : folders_in(results + '/' + configuration + '/' + run)) {
        const std::string path = configuration + '/' + run + '/' + attempt;
        const std::optional<AttemptKey> key = parse_attempt_key(path);
        // `a01` would be a second folder of one attempt.
        if (key && to_string(*key) == path) keys.push_back(*key);
      }
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace hpcbench
