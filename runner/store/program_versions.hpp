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

/// A file that runs executed: one that the command names, or its program, found on PATH.
struct ExecutedFile {
  std::string name;    // as the command names it
  std::string path;    // `name`, or where PATH found the program
  std::string folder;  // that relative paths start in, as given to ProgramVersions::add
  bool on_path = false;

  friend auto operator<=>(const ExecutedFile&, const ExecutedFile&) = default;
};

/// A file whose present content is not what runs executed.
struct ProgramChange {
  std::string name;
  long long runs = 0;                   // that executed other content
  long long of = 0;                     // that executed this file
  std::vector<std::string> config_ids;  // of the former, each once

  /// `train.py changed since 6 of 12 runs`.
  std::string text() const;
};

/// Which files runs executed, with which content, by their facts `code:PATH` and `program:NAME`.
class ProgramVersions {
 public:
  /// Adds a run. The runs of a configuration follow each other.
  void add(const std::string& config_id, const std::string& folder, const NameMap<std::string>& facts);
  bool empty() const { return files_.empty(); }
  /// The changed files, sorted by name. `present_hash` gives the SHA-256 of a file as it is now; nothing is claimed of a file
  /// without one.
  std::vector<ProgramChange> changes(const std::function<std::optional<std::string>(const ExecutedFile&)>& present_hash) const;

  /// Whether a fact is one that add() reads.
  static bool is_program_fact(std::string_view name);

 private:
  struct Version {
    long long runs = 0;
    std::vector<std::string> config_ids;
  };
  std::map<ExecutedFile, std::map<std::string, Version>> files_;  // by short hash
};

}  // namespace hpcbench
