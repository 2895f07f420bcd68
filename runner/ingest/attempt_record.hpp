#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"
#include "base/name_map.hpp"
#include "base/run_name.hpp"
#include "base/series_point.hpp"
#include "base/state.hpp"
#include "base/value.hpp"
#include "runfiles/set_aside.hpp"

namespace hpcbench {

/// All that is known of one attempt, read from its folder alone: what the index holds and reports are made of.
struct AttemptRecord {
  std::string experiment;
  AttemptKey key;
  Bindings axes;
  int gpus = 1;
  State state = State::intended;
  bool is_void = false;               // hpcbench revoked it before it ran: it counts for nothing
  std::optional<std::string> reason;  // why it did not succeed, with the first failing rank and its last lines
  std::string executor;
  std::optional<std::string> job;
  std::optional<std::string> batch;
  std::optional<std::string> node;   // host names, joined by `,`
  std::optional<std::string> nodes;  // that Slurm gave the run, all of them, joined by `,`; absent elsewhere
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<double> intended_unix_s, started_unix_s,
      finished_unix_s;  // time stamps of their hosts: for timelines and overlaps
  std::optional<double> time_limit_s;
  /// Of the whole run, in seconds, bytes or the metric's own unit: wall_s always when it ended; train_s, eval_s, user_s,
  /// max_rss_bytes, train_loss, val_loss, accuracy ... as far as they were written. A name that is not here is absent.
  NameMap<double> metrics;
  NameMap<std::string> units;  // of `metrics` whose name does not say it
  /// By epoch, step or, where the name begins with `rank_`, by rank: rank_train_s, rank_real_s, rank_user_s, rank_sys_s.
  std::vector<SeriesPoint> series;
  /// Facts that make rows comparable or not: precision, global_batch, optimizer_steps, samples, device, torch, code, commit ...
  NameMap<std::string> facts;
  /// Where metrics stood: `events.jsonl`, `metrics.csv:17`, `finished.json`. Only what was just read has it, the index does
  /// not.
  NameMap<std::string> places;
  std::vector<std::string> warnings;  // of reading: `events.jsonl:17: not JSON`
  std::optional<SetAside> aside;      // of the index: without user and time
  std::string rules;                  // hash of the reading rules that made it (ingest/reading.hpp); empty of imported runs
};

/// Fact: names of metrics whose last or only value is NaN or infinite, joined by `, `. They have no value for the reason `nan`.
inline constexpr const char* kNanFact = "nan";
/// Begins names of facts that are figures of a published table: `published_train_s`, `published_speedup`.
inline constexpr std::string_view kPublished = "published_";
/// Those names.
std::vector<std::string> nan_metrics(const AttemptRecord& record);
bool is_nan_metric(const AttemptRecord& record, const std::string& metric);

struct ReadingRules;

/// Reads an attempt's folder (run.json, claim, started.json, finished.json, event files, metrics). Total: whatever is missing
/// or broken gives fewer fields and a warning. `state` is what the files alone say: intended (no claim), running (claimed or
/// started), cancelled (revoked), or an outcome (finished.json).
/// `rules` say how its results are read; null: as run.json says.
AttemptRecord read_attempt(const std::string& attempt_folder, const ReadingRules* rules = nullptr);

/// The same, for an attempt whose executor says that it ended without finished.json: writes that to settled.json first,
/// durably, so that whoever reads the folder later says the same. A finished.json that is there after all wins.
AttemptRecord settle_attempt(const std::string& attempt_folder, State outcome, const std::string& reason,
                             const ReadingRules* rules = nullptr);

/// Attempt folders below results/EXPERIMENT, sorted by key.
std::vector<AttemptKey> find_attempts(const std::string& results);

}  // namespace hpcbench
