#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_map.hpp"

namespace hpcbench {

/// A file that runs executed: one that the command names, or the command's program, found on PATH.
struct ExecutedFile {
  std::string name;    // as the command names it
  std::string path;    // `name`, or where PATH found the program
  std::string folder;  // the folder of relative paths, as passed to ProgramVersions::add
  bool on_path = false;

  friend auto operator<=>(const ExecutedFile&, const ExecutedFile&) = default;
};

/// A file whose present content differs from the content that runs executed.
struct ProgramChange {
  std::string name;
  long long runs = 0;                   // runs that executed other content
  long long of = 0;                     // runs that executed this file
  std::vector<std::string> config_ids;  // configurations of the former, each once

  /// Returns a sentence: `train.py changed since 6 of 12 runs`.
  std::string text() const;
};

/// The files that runs executed, and their content, from their facts `code:PATH` and `program:NAME`.
class ProgramVersions {
 public:
  /// Adds a run. Call it for all runs of a configuration in a row.
  void add(const std::string& config_id, const std::string& folder, const NameMap<std::string>& facts);
  bool empty() const { return files_.empty(); }
  /// Returns the changed files, sorted by name. `present_hash` returns the SHA-256 of a file's present content; a file without
  /// one is not reported.
  std::vector<ProgramChange> changes(const std::function<std::optional<std::string>(const ExecutedFile&)>& present_hash) const;

  /// Returns whether a fact is one that add() reads.
  static bool is_program_fact(std::string_view name);

 private:
  struct Version {
    long long runs = 0;
    std::vector<std::string> config_ids;
  };
  std::map<ExecutedFile, std::map<std::string, Version>> files_;  // by short hash
};

}  // namespace hpcbench
