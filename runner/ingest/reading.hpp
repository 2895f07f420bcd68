#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runfiles/run_info.hpp"

namespace hpcbench {

/// How the results of a run are read. Never part of what was run: the experiment file of today says it, run.json only where no
/// file has been applied yet.
struct ReadingRules {
  std::vector<Metric> metrics;
  int success_exit_code = 0;
  std::optional<std::string> success_pattern;
  std::vector<std::string> success_require = {};
  FormulaNames formula_names = {};
};

/// Those that a run.json holds.
ReadingRules rules_of(const RunInfo& info);
/// One line of JSON: the fields `metrics`, `success` and `formulas` as run.json has them.
std::string rules_json(const ReadingRules& rules);
/// 12 hex digits: equal rules have equal ones.
std::string rules_hash(const ReadingRules& rules);

/// The rules of each configuration of an experiment: results/EXPERIMENT/reading.json (docs/run-directory.md).
struct Reading {
  std::map<std::string, ReadingRules> rules;  // by hash
  std::string usual;                          // hash for configurations that `others` does not name; empty: as run.json says
  std::map<std::string, std::string> others;  // config_id: hash, or empty
  /// Hashes in the file that are not those of their rules, as another version of hpcbench gives them: ours.
  std::map<std::string, std::string> renamed = {};

  const std::string& hash_of(const std::string& config_id) const;
  /// Null: as run.json says.
  const ReadingRules* find(const std::string& config_id) const;
};

inline constexpr const char* kReadingFile = "reading.json";

std::string reading_json(const Reading& reading);
/// Total: a damaged file counts as no file.
Reading parse_reading(std::string_view text);
/// The rules last applied to results/EXPERIMENT.
Reading read_reading(const std::string& results);

}  // namespace hpcbench
