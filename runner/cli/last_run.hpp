#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What was run last in a results folder, and how its file was read: results/last_run.json. Commands without FILE go by it.
struct LastRun {
  std::string experiment;
  std::string file;                   // absolute
  std::string profile;                // empty: none
  std::string site;                   // empty: none
  std::vector<std::string> settings;  // the texts of --set
};

void write_last_run(const std::string& results_root, const LastRun& run);
/// Absent if nothing was run there, or the file is damaged.
std::optional<LastRun> read_last_run(const std::string& results_root);

}  // namespace hpcbench
