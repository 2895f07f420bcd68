#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// The last run in a results folder, and how its file was read: results/last_run.json. Commands without FILE use it.
struct LastRun {
  std::string experiment;
  std::string file;                   // absolute
  std::string profile;                // several: with commas between them; empty: none
  std::string site;                   // empty: none
  std::vector<std::string> settings;  // the texts of --set
  bool ours = true;                   // this user wrote it, and no other can; else it is read, but nothing is executed by it
};

/// `FILE --profile P --site S --set A=B`, as a shell takes it.
std::string how_it_was_read(const LastRun& run);

/// Also written as results/EXPERIMENT/last_run.json, so that each study is known by its name. A path that begins with `../`
/// is relative to `results_root`, wherever that will be.
void write_last_run(const std::string& results_root, const LastRun& run);
/// Absent if nothing was run there, or the file is damaged.
std::optional<LastRun> read_last_run(const std::string& results_root);

/// How an experiment was read when it was run last; of results without its own note from the copy of its file. Absent if there
/// are no such results.
std::optional<LastRun> read_last_run_of(const std::string& results_root, const std::string& experiment);
/// Profiles that an experiment was ever run with together, each as LastRun::profile has it, sorted.
std::vector<std::string> read_profiles_together(const std::string& results_root, const std::string& experiment);
/// How a file (an absolute path) was read when it was run last there.
std::optional<LastRun> find_last_run_of_file(const std::string& results_root, const std::string& file);

}  // namespace hpcbench
