#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/metric.hpp"
#include "base/series_point.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/outcome.hpp"

namespace hpcbench {

/// A file of a run that hpcbench did not start.
struct SourceFile {
  std::string path;
  std::string name;         // what messages and globs of metrics know it by: without its folders
  std::string origin = {};  // where it was imported from: globs with folders match the end of this path
};

/// What such files hold of their run.
struct SourceReading {
  std::map<std::string, double> values;
  std::map<std::string, std::string> units;
  std::map<std::string, std::string> places;  // of values: `Fabric.out:73`
  std::vector<SeriesPoint> series;
  std::vector<std::string> warnings;
  std::vector<std::string> not_finite;  // metrics whose last or only value is NaN or infinite
  std::vector<std::string> conflicts;   // metrics that two files give
  std::optional<Outcome> said;          // Slurm's own words for how the job ended
  std::optional<bool> pattern_found;    // `success.pattern`, where there is one
};

/// Reads each metric from the files whose paths end as its glob, else from those whose name matches it (without folders), else
/// from those of the kind that its source reads. Total, in bounded memory.
SourceReading read_sources(const std::vector<SourceFile>& files, const std::vector<Metric>& metrics,
                           const std::optional<std::string>& success_pattern);

/// True for events.jsonl, events.R.jsonl, gpu.csv and gpu.N.csv: what an attempt's folder holds under these names.
bool is_attempt_file(std::string_view name);

/// The line by which a program calls its own result invalid: `Result is : INVALID`, `Verification = UNSUCCESSFUL` ...
std::optional<std::string> find_invalid_verdict(std::string_view text);
/// The warning about such a line.
std::string tell_invalid(const std::string& file, const std::string& line);

/// Slurm's words in a text: `DUE TO TIME LIMIT`, `oom-kill event` ...; the weightiest of them, with its line.
std::optional<Outcome> find_slurm_words(std::string_view text);

}  // namespace hpcbench
