#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// A metric that is read from files, as run.json has it (docs/sources.md).
struct MetricSpec {
  std::string name;
  std::string file;      // glob
  std::string selector;  // what the source is told: a pattern (RE2), a column, a pointer ...
  std::string unit;
  bool series = false;
  std::string source = "pattern";  // a key of metric_sources()
  std::string index = {};          // what numbers the series; empty: numbered from 1
  std::string take = "last";       // which of several values counts (base/take.hpp)
  long long skip = 0;              // the first values that `take` leaves out

  /// Computed from other metrics: `selector` is its expression, and no file is read.
  bool is_formula() const { return source == "formula"; }
};

/// What formulas and requirements name beside metrics and axes: parameters, and derived values with their expressions in order
/// of need.
struct NamesOfFormulas {
  Bindings parameters;
  std::vector<std::pair<std::string, std::string>> derived;

  bool empty() const { return parameters.empty() && derived.empty(); }
};

/// What ingest needs of run.json. Fields that are missing or of a wrong type keep their defaults.
struct RunInfo {
  bool readable = false;  // the text is a JSON object of schema 1
  std::string experiment, config_id, run;
  int attempt = 0;
  std::optional<std::string> batch;
  std::string executor;
  Bindings axes;
  int gpus = 1;
  int nodes = 1, processes = 1, cpus_per_task = 1;
  bool launched_once = false;  // launch: once
  std::optional<double> time_limit_s;
  std::optional<double> intended_unix_s;
  std::string workdir;
  std::optional<std::size_t> outside_globs;  // how many `outside` names; absent: made before copies were kept
  std::vector<MetricSpec> metrics;
  int success_exit_code = 0;
  std::optional<std::string> success_pattern;
  std::vector<std::string> success_require;
  NamesOfFormulas formula_names;
  std::map<std::string, std::string> facts;  // commit, dirty, code (one hash of all files that the command names), hpcbench
};

RunInfo parse_run_json(std::string_view text);

/// started.json.
struct Started {
  bool readable = false;
  std::string host;
  std::optional<double> started_unix_s;
  std::optional<std::string> job, devices;
  std::optional<int> cores;  // that the job's first process may use
};

Started parse_started(std::string_view text);

/// finished.json: facts of the end of a run; `ingest/outcome.hpp` says what they mean.
struct Finished {
  bool readable = false;
  std::string host;
  std::optional<double> finished_unix_s, wall_s, time_limit_s;
  std::optional<int> exit_code, signal, first_failed_rank;
  bool timed_out = false, cancelled = false, oom_kill = false, never_began = false;
  std::optional<std::string> error;
  std::string tail;
  std::optional<double> user_s, sys_s;     // sums over processes
  std::vector<SeriesPoint> ranks;          // rank_real_s, rank_user_s, rank_sys_s of each process
  std::optional<double> max_rss_bytes;     // of the largest process
  std::map<std::string, long long> files;  // sizes of event files at the end
};

Finished parse_finished(std::string_view text);

}  // namespace hpcbench
