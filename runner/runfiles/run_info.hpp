#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/glob.hpp"
#include "base/metric.hpp"
#include "base/series_point.hpp"
#include "base/value.hpp"

namespace hpcbench {

/// Which part of its run an attempt is: only where `continue` lets runs have several.
struct Segment {
  std::vector<int> before;       // the attempts that are the segments before it
  int from = 0;                  // the attempt that it goes on from; 0: it begins
  std::optional<double> warn_s;  // how long before the time limit the program gets SIGUSR1; 0: never
};

/// What a program ends with that has saved its state and wants to be continued, as self-checkpointing jobs of HTCondor do.
inline constexpr int kExitSaved = 85;

/// run.json, read for all who need something of it. Fields that are missing or of a wrong type keep their defaults.
struct RunInfo {
  bool readable = false;  // the text is a JSON object of schema 1
  std::string experiment, config_id, run;
  int attempt = 0;
  std::optional<std::string> batch;
  std::string executor;
  Bindings axes;
  int gpus = 1;
  bool has_gpus = true;  // of the study
  int nodes = 1, processes = 1, cpus_per_task = 1;
  bool launched_once = false;  // launch: once
  std::optional<double> time_limit_s;
  std::optional<double> estimated_s;  // of a block whose job asked for so much time for it; absent: for its limit
  int side_by_side = 1;               // runs of its block that go on at a time,
  bool shares_numa = false;           // and may share a NUMA node
  bool alone = false;                 // with `calibrate`, a retired key: nothing ran beside it
  std::optional<double> intended_unix_s;
  std::string workdir;
  std::string run_dir;  // `out`: the program's folder in the attempt's; empty: they are one, as in earlier versions
  std::optional<std::vector<OutsideGlob>> outside;  // absent: made before copies were kept
  std::vector<std::string> decks;                   // what `files` brought, relative to the program's folder
  std::vector<Metric> metrics;
  int success_exit_code = 0;
  std::optional<std::string> success_pattern;
  std::vector<std::string> success_require;
  FormulaNames formula_names;
  std::optional<Segment> segment;
  std::string inject;  // the faults that `inject`, a retired key, asked for, as JSON; empty: none
  std::map<std::string, std::string>
      facts;  // commit, dirty, code (one hash of all files that the command names), program:NAME, hpcbench

  std::vector<std::string> argv;                   // the program and its arguments
  bool shell = false;                              // `argv` is a text for a shell
  std::map<std::string, std::string> environment;  // values by name
  bool merged_output = false;                      // of ranks above 0
  std::string container_runtime;                   // `apptainer`, `podman` ...; empty: in no container
  /// Fields with a wrong type or a senseless value: startable_run refuses them.
  std::vector<std::string> wrong;

  /// An earlier segment of the run was an attempt of its own.
  bool is_continued() const { return segment && !segment->before.empty(); }
  std::optional<std::size_t> outside_globs() const { return outside ? std::optional(outside->size()) : std::nullopt; }
  /// The exit code of a process that is to be continued; absent: none is.
  std::optional<int> saved_exit_code() const { return segment ? std::optional(kExitSaved) : std::nullopt; }
};

RunInfo parse_run_json(std::string_view text);

/// The same of a run that is to be started. InputError `error: PATH: ...` where the text does not allow that.
RunInfo startable_run(const std::string& text, const std::string& path);

/// A field of run.json as text for people: strings as they are, anything else as JSON; empty where there is none, or null.
std::string run_json_field(std::string_view text, std::string_view name);

/// started.json.
struct Started {
  bool readable = false;
  std::string host;
  std::optional<double> started_unix_s;
  std::optional<std::string> job, devices;
  std::optional<std::string> nodes;  // of the run, in a job of Slurm: a list as expand_host_list() reads it
  std::optional<int> cores;          // that the job's first process may use
};

Started parse_started(std::string_view text);

/// finished.json: facts of the end of a run; `ingest/outcome.hpp` says what they mean.
struct Finished {
  bool readable = false;
  std::string host;
  std::optional<double> finished_unix_s, wall_s, time_limit_s, suspended_s;
  std::optional<int> exit_code, signal, first_failed_rank;
  bool timed_out = false, cancelled = false, oom_kill = false, never_began = false;
  bool warned = false;  // of the time limit, by SIGUSR1
  std::optional<std::string> error;
  std::optional<std::string> bound, shared;  // of a run side by side with others: as FinishedFacts has them
  std::string tail;
  std::optional<double> user_s, sys_s;     // sums over processes
  std::vector<SeriesPoint> ranks;          // rank_real_s, rank_user_s, rank_sys_s of each process
  std::optional<double> max_rss_bytes;     // of the largest process
  std::map<std::string, long long> files;  // sizes of event files at the end
};

Finished parse_finished(std::string_view text);

/// `{"exit_code":0,"pattern":null}`, and `require` if there are requirements.
void write_success(JsonWriter& json, int exit_code, const std::optional<std::string>& pattern,
                   const std::vector<std::string>& require);

}  // namespace hpcbench
