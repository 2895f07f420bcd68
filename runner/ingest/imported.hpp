#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/series_point.hpp"
#include "base/state.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// A file that an imported run was made of.
struct ImportedSource {
  std::string path;  // absolute, where it was read
  std::string sha256;
  long long size_bytes = 0;
  long long changed_ns = 0;         // its time stamp then: a file of the same size and time is not hashed again
  std::optional<std::string> file;  // the copy, relative to the attempt's folder; absent if too large
  std::optional<long long> line;    // of a table: which line this run is
};

/// imported.json: what an import read of a run that hpcbench did not start (docs/run-directory.md). It keeps values as they
/// were read, so that the files are not needed again; events.jsonl and gpu.csv beside it are read as those of any attempt.
struct Imported {
  std::string identity;  // of experiment, axes and contents: no run is imported twice
  std::string request;   // of the request: metrics, values, facts ...
  bool by_file = false;  // `import:` of the experiment file asked for it, not `hpcbench ingest`
  std::vector<ImportedSource> sources;
  std::map<std::string, double> values;
  std::map<std::string, std::string> units;
  std::vector<SeriesPoint> series;
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> places;  // of values: `Fabric.out:73`
  std::vector<std::string> warnings;
  State outcome = State::succeeded;
  std::optional<std::string> reason, statistic, note;
  std::optional<long long> n;        // how many runs the statistic is of
  std::optional<std::string> asked;  // JSON: what `hpcbench ingest` got beside the files (imports/asked_by_hand.hpp)
};

inline constexpr const char* kImportExecutor = "import";
inline constexpr const char* kImportedFile = "imported.json";

std::string imported_json(const Imported& imported);
/// Absent if the text is no such object of schema 1, or names no outcome.
std::optional<Imported> parse_imported(std::string_view text);

/// Series `rank_real_s` and the like of facts that hold one number a rank, joined by blanks.
std::vector<SeriesPoint> rank_series(const std::map<std::string, std::string>& facts);

}  // namespace hpcbench
