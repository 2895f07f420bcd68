#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <set>
#include <utility>

#include "base/files.hpp"
#include "base/host_list.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/event_files.hpp"
#include "ingest/events.hpp"
#include "ingest/formulas.hpp"
#include "ingest/gpu_samples.hpp"
#include "ingest/imported.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_files.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/metric_scan.hpp"
#include "ingest/outcome.hpp"
#include "ingest/read_sources.hpp"
#include "ingest/reading.hpp"
#include "ingest/segments.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"
#include "runfiles/settled.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// Reads one attempt's folder into a record, file by file.
class AttemptReader {
 public:
  AttemptReader(const std::string& folder, const ReadingRules* rules) : rules_(rules) {
    std::error_code error;
    const fs::path absolute = fs::absolute(folder, error);
    folder_ = (error ? fs::path(folder) : absolute).lexically_normal().string();
    while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
  }

  void read() {
    read_identity();
    read_start();
    note_machine();
    read_finish();
    read_events();
    add_metric("wall_s", finished_.wall_s, "finished.json");
    if (is_import()) {
      read_imported();
    } else {
      read_metrics();
    }
    if (!info_.is_continued()) take_samples();
    combine_segments(folder_, info_, finished_, record_);
    if (!info_.inject.empty()) record_.facts["inject"] = info_.inject;
    drop_negative_times();
    if (!nan_.empty()) record_.facts[kNanFact] = join({nan_.begin(), nan_.end()}, ", ");
    compute_formulas(info_, record_, finished_.readable || is_import());
    decide();
    if (is_outcome(record_.state)) record_.aside = read_set_aside(folder_);
    std::stable_sort(record_.series.begin(), record_.series.end(),
                     [](const SeriesPoint& a, const SeriesPoint& b) { return a.name < b.name; });
  }

  AttemptRecord& record() { return record_; }
  void warn(std::string text) { record_.warnings.push_back(std::move(text)); }

 private:
  /// Reads and parses one of the small JSON files; a default value if it is missing or broken.
  template <class Parse>
  auto read_json(const std::string& name, bool required, Parse parse) {
    std::string problem;
    const std::optional<std::string> text = read_small_file(folder_ + '/' + name, problem);
    if (!text && (required || !problem.empty())) warn(fmt::format("{}: {}", name, problem.empty() ? "missing" : problem));
    auto result = parse(text.value_or(""));
    if (text && !result.readable) warn(fmt::format("{}: not a JSON object of schema 1", name));
    return result;
  }

  bool is_import() const { return info_.executor == kImportExecutor; }

  void read_identity() {
    info_ = read_json("run.json", true, parse_run_json);
    run_dir_ = run_dir_of(folder_, info_);
    const fs::path folder(folder_);
    const fs::path run = folder.parent_path();
    const std::string path =
        run.parent_path().filename().string() + '/' + run.filename().string() + '/' + folder.filename().string();
    if (const std::optional<AttemptKey> key = parse_attempt_key(path)) {
      record_.key = *key;
      record_.experiment = run.parent_path().parent_path().filename().string();
    } else {
      record_.key = {info_.config_id, parse_run_name(info_.run).value_or(RunName()), std::max(1, info_.attempt)};
      record_.experiment = info_.experiment;
    }
    const std::string named = fmt::format("{}/{}/{}/a{}", info_.experiment, info_.config_id, info_.run, info_.attempt);
    if (info_.readable && named != record_.experiment + '/' + to_string(record_.key)) {
      warn(fmt::format("run.json: says that it is {}; the folder's name counts", named));
    }
    apply_rules();
    record_.axes = info_.axes;
    record_.gpus = info_.gpus;
    record_.batch = info_.batch;
    record_.executor = info_.executor;
    record_.intended_unix_s = info_.intended_unix_s;
    record_.time_limit_s = info_.time_limit_s;
    for (const Metric& metric : info_.metrics) {
      if (!metric.unit.empty()) record_.units[metric.name] = printable(metric.unit);
    }
  }

  /// What is asked of the results today goes before what was asked when the run was made.
  void apply_rules() {
    if (is_import()) return;
    if (rules_ != nullptr) {
      info_.metrics = rules_->metrics;
      info_.success_exit_code = rules_->success_exit_code;
      info_.success_pattern = rules_->success_pattern;
      info_.success_require = rules_->success_require;
      info_.formula_names = rules_->formula_names;
    }
    record_.rules = rules_hash(rules_of(info_));
  }

  void read_start() {
    std::string problem;
    const std::optional<std::string> text = read_small_file(folder_ + "/claim", problem);
    if (!problem.empty()) warn("claim: " + problem);
    // Only one that is surely not there counts as none: what cannot be read may be somebody's.
    if (text || !problem.empty()) claim_ = parse_claim(text.value_or(""));
    started_ = read_json("started.json", false, parse_started);
    record_.started_unix_s = started_.started_unix_s;
    record_.job = started_.job;
    if (claim_ && !claim_->job.empty()) record_.job = printable(claim_->job);
    if (started_.devices) record_.facts["devices"] = *started_.devices;
    if (const auto nodes = expand_host_list(started_.nodes.value_or("")); !nodes.empty())
      record_.nodes = printable(join(nodes, ","));
  }

  /// What keeps a row from being what its nodes and gpus say; no fact where there is nothing of the kind.
  void note_machine() {
    if (is_import()) return;
    const bool local = info_.executor == "local";
    if (local && info_.nodes > 1) record_.facts["simulated_nodes"] = std::to_string(info_.nodes);
    if (info_.launched_once && info_.nodes > 1) record_.facts["launched_once_on_nodes"] = std::to_string(info_.nodes);
    const long long wanted = static_cast<long long>(info_.processes) * info_.cpus_per_task;
    if (local && started_.cores && *started_.cores > 0 && wanted > *started_.cores)
      record_.facts["cores_shared"] = fmt::format("{} cores asked for, {} there", wanted, *started_.cores);
  }

  void read_finish() {
    finished_ = read_json("finished.json", false, parse_finished);
    record_.finished_unix_s = finished_.finished_unix_s;
    record_.exit_code = finished_.exit_code;
    record_.signal = finished_.signal;
    if (!record_.time_limit_s) record_.time_limit_s = finished_.time_limit_s;
    if (info_.side_by_side > 1 && !info_.alone) record_.facts["side_by_side"] = std::to_string(info_.side_by_side);
    if (finished_.bound) record_.facts["bound_to"] = *finished_.bound;
    if (finished_.shared) record_.facts["side_by_side_shared"] = *finished_.shared;
    for (const std::string& host : {started_.host, finished_.host, claim_ && claim_->process ? claim_->process->host : ""}) {
      if (!record_.node && !host.empty()) record_.node = printable(host);
    }
  }

  void read_events() {
    for (const auto& [rank, file] : find_event_files(folder_, run_dir_)) read_event_file(rank, file);
    for (const auto& [name, size] : finished_.files) {
      const std::string file = program_file(folder_, run_dir_, name);
      if (std::optional<std::string> missing = describe_missing_events(file, size)) warn(std::move(*missing));
    }
    // What the launcher measured stands in for what the program did not say.
    for (const auto& [name, value] : {std::pair("user_s", finished_.user_s), std::pair("sys_s", finished_.sys_s),
                                      std::pair("max_rss_bytes", finished_.max_rss_bytes)}) {
      if (!record_.metrics.contains(name)) add_metric(name, value, "finished.json");
    }
    add_rank_series();
    for (const auto& [name, text] : info_.facts) record_.facts[name] = text;
  }

  void read_event_file(int rank, const std::string& file) {
    const std::string name = fs::path(file).filename().string();
    EventReader reader(name);
    const auto problem = read_lines(file, [&](std::string_view piece) {
      reader.feed(piece);
      return true;
    });
    if (problem) warn(fmt::format("{}: {}", name, *problem));
    EventSummary events = reader.finish();
    for (std::string& warning : events.warnings) warn(std::move(warning));
    if (events.first_error && (!evidence_.error || finished_.first_failed_rank == rank)) evidence_.error = events.first_error;
    if (events.out_of_memory && !evidence_.out_of_memory) evidence_.out_of_memory = events.out_of_memory;
    if (events.diverged && !evidence_.diverged) evidence_.diverged = events.diverged;
    for (const char* time : {"train_s", "user_s", "sys_s", "real_s"}) {
      const auto value = events.run_end.find(time);
      if (value != events.run_end.end() && !info_.is_continued())
        rank_points_.push_back({fmt::format("rank_{}", time), rank, value->second});
    }
    if (info_.is_continued()) {
      std::erase_if(events.run_end, [](const auto& value) { return is_of_one_segment(value.first); });
      std::erase_if(events.series, [](const SeriesPoint& point) { return is_of_one_segment(point.name); });
      events.totals.clear();
    }
    if (rank == 0) {
      take_rank_0(std::move(events));
    } else if (const auto train_s = events.run_end.find("train_s"); train_s != events.run_end.end()) {
      const auto known = record_.metrics.find("train_s");
      if (known == record_.metrics.end() || known->second < train_s->second) add_metric("train_s", train_s->second, name);
    }
  }

  void take_rank_0(EventSummary events) {
    for (const auto* values : {&events.totals, &events.last_values, &events.run_end}) {
      for (const auto& [name, value] : *values) {
        if (name != "wall_s" || is_import()) add_metric(name, value, "events.jsonl");
      }
    }
    nan_ = std::move(events.not_finite);
    record_.series = std::move(events.series);
    for (auto& [name, text] : events.facts) record_.facts.emplace(name, std::move(text));
    if (events.hosts && !events.hosts->empty()) record_.node = events.hosts;
    for (const char* name : {"samples", "optimizer_steps", "tokens"}) {
      const auto value = record_.metrics.find(name);
      if (value != record_.metrics.end()) record_.facts[name] = fmt::format("{}", value->second);
    }
  }

  /// Times of each rank, where there are several: what the ranks say of themselves, else what the launcher measured.
  void add_rank_series() {
    if (info_.is_continued()) return;
    std::vector<SeriesPoint> points = rank_points_;
    for (const SeriesPoint& point : finished_.ranks) {
      const bool said = std::any_of(rank_points_.begin(), rank_points_.end(),
                                    [&](const SeriesPoint& other) { return other.name == point.name; });
      if (!said) points.push_back(point);
    }
    const bool several = std::any_of(points.begin(), points.end(), [](const SeriesPoint& point) { return point.index > 0; });
    if (several) record_.series.insert(record_.series.end(), points.begin(), points.end());
  }

  void read_metrics() {
    AttemptPlace place{folder_, run_dir_, info_.workdir, info_.outside_globs(), std::nullopt, finished_.readable};
    if (started_.started_unix_s && finished_.finished_unix_s)
      place.ran = ChangedBetween{*started_.started_unix_s, *finished_.finished_unix_s};
    std::set<std::string> outside;
    for (const Metric& metric : info_.metrics) {
      if (metric.is_formula()) continue;
      const MetricFiles found = find_metric_files(metric.file, place);
      std::vector<std::string> names;
      for (const std::string& file : found.files) names.push_back(attempt_file_name(file, folder_, run_dir_));
      add_outside(names, outside);
      if (!found.left_out.empty()) warn(fmt::format("metric {}: {}", metric.name, found.left_out));
      take_matches(metric, found.files.empty(), read_metric(metric, found.files, names));
    }
    if (!outside.empty()) record_.facts["outside"] = join({outside.begin(), outside.end()}, ", ");
  }

  void take_matches(const Metric& metric, bool no_files, MetricMatches matches) {
    // A metric of the author's replaces one of the same name that events gave.
    if (matches.value) add_metric(metric.name, matches.value, matches.place);
    if (matches.value && !matches.unit.empty()) record_.units[metric.name] = printable(matches.unit);
    if (came_out_nan(matches)) note_nan(metric.name, matches.value.has_value());
    if (metric.series && matches.count > 0) {
      std::erase_if(record_.series, [&](const SeriesPoint& point) { return point.name == metric.name; });
      std::move(matches.series.begin(), matches.series.end(), std::back_inserter(record_.series));
    }
    for (const std::string& warning : matches.warnings) warn(fmt::format("metric {}: {}", metric.name, warning));
    if (const std::string told = tell_not_finite(matches); !told.empty()) warn(fmt::format("metric {}: {}", metric.name, told));
    if (matches.not_numbers > 0) {
      warn(fmt::format("metric {}: {}", metric.name, tell_not_numbers(matches)));
    } else if (!matches.value && matches.warnings.empty() && matches.not_finite == 0 && finished_.readable) {
      warn(fmt::format("metric {}: {} {}", metric.name, no_files ? "no file is" : "no match in", printable(metric.file)));
    }
  }

  void take_samples() {
    const std::optional<LoadSummary> load = read_load_samples(folder_);
    if (load) {
      for (const std::string& warning : load->warnings) warn(warning);
      add_metric("cpu_percent", load->cpu_percent, "monitor.csv");
      add_metric("rss_peak_bytes", load->rss_peak_bytes, "monitor.csv");
    }
    const std::optional<GpuSummary> summary = read_gpu_samples(folder_, run_dir_);
    if (load && !summary && info_.has_gpus && info_.gpus > 0)
      warn("monitor: nvidia-smi was not found, so gpus were not sampled");
    if (!summary) return;
    if (load && info_.executor == "local" && summary->gpus > info_.gpus) {
      warn(
          fmt::format("gpu.csv: {} gpus were sampled, the run has {}: set CUDA_VISIBLE_DEVICES to leave out the work of others",
                      summary->gpus, info_.gpus));
    }
    for (const std::string& warning : summary->warnings) warn(warning);
    for (const auto& [name, value] : gpu_metrics(*summary)) add_metric(name, value, "gpu.csv");
    const auto samples = record_.metrics.find("samples");
    if (summary->energy_wh && samples != record_.metrics.end() && samples->second > 0) {
      add_metric("energy_wh_per_sample", *summary->energy_wh / samples->second, "gpu.csv");
    }
  }

  /// What was taken in of a run that hpcbench did not start. Given values go before those of events.
  void read_imported() {
    std::string problem;
    const std::optional<std::string> text = read_small_file(folder_ + '/' + kImportedFile, problem);
    if (text) imported_ = parse_imported(*text);
    if (!imported_) {
      warn(fmt::format("{}: {}", kImportedFile,
                       text              ? "not a JSON object of schema 1"
                       : problem.empty() ? "missing"
                                         : problem));
      return;
    }
    record_.intended_unix_s.reset();
    for (const auto& [name, value] : imported_->values) {
      const auto place = imported_->places.find(name);
      add_metric(name, value, place == imported_->places.end() ? kImportedFile : place->second);
      std::erase_if(record_.series, [&](const SeriesPoint& point) { return point.name == name; });
    }
    if (const auto limit = imported_->values.find("time_limit_s"); limit != imported_->values.end()) {
      record_.time_limit_s = limit->second;
      record_.metrics.erase("time_limit_s");
    }
    for (const auto& [name, unit] : imported_->units) record_.units[name] = printable(unit);
    for (const std::vector<SeriesPoint>& series : {imported_->series, rank_series(imported_->facts)}) {
      record_.series.insert(record_.series.end(), series.begin(), series.end());
    }
    for (const auto& [name, fact] : imported_->facts) {
      if (name != kNanFact) record_.facts[printable(name)] = printable(fact);
    }
    note_imported_nan();
    record_.facts["source"] = "imported";
    if (imported_->statistic) record_.facts["statistic"] = printable(*imported_->statistic);
    if (imported_->n) record_.facts["statistic_n"] = std::to_string(*imported_->n);
    if (imported_->note) record_.facts["note"] = printable(*imported_->note);
    for (const std::string& warning : imported_->warnings) warn(printable(warning));
  }

  void note_imported_nan() {
    const auto named = imported_->facts.find(kNanFact);
    if (named == imported_->facts.end()) return;
    for (const std::string& name : split(named->second, ','))
      note_nan(std::string(trim(name)), imported_->values.contains(std::string(trim(name))));
  }

  /// A negative time is a wrong number, not a fast run. Computed metrics may be differences, and stay.
  void drop_negative_times() {
    std::vector<std::string> negative;
    for (const auto& [name, value] : record_.metrics) {
      const auto unit = record_.units.find(name);
      if (value < 0 && is_unit_of_time(unit == record_.units.end() ? unit_in_name(name) : unit->second))
        negative.push_back(name);
    }
    for (const std::string& name : negative) {
      warn(fmt::format("metric {}: {} at {} is a negative time", name, record_.metrics[name], record_.places[name]));
      record_.metrics.erase(name);
      record_.places.erase(name);
    }
  }

  /// The last value of a metric is NaN or infinite. Unless `take` chose another one, the metric has no value.
  void note_nan(const std::string& name, bool has_value) {
    if (!has_value) {
      record_.metrics.erase(name);
      record_.places.erase(name);
    }
    nan_.insert(name);
  }

  void add_metric(const std::string& name, std::optional<double> value, const std::string& place) {
    if (!value || !std::isfinite(*value)) return;
    nan_.erase(name);
    record_.metrics[name] = *value;
    record_.places[name] = place;
  }

  void decide() {
    if (claim_ && claim_->revoked) {
      record_.state = State::cancelled;
      record_.is_void = claim_->is_void();
      record_.reason = printable(claim_->why);
      if (finished_.readable) warn("finished.json: of an attempt that was revoked; it does not count");
    } else if (is_import()) {
      record_.state = imported_ ? imported_->outcome : State::lost;
      record_.reason = imported_ ? imported_->reason : std::optional<std::string>("imported.json cannot be read");
      if (record_.reason) record_.reason = printable(*record_.reason);
    } else if (finished_.readable) {
      std::optional<bool> found;
      if (info_.success_pattern) {
        found = file_holds(folder_ + "/stdout.log", *info_.success_pattern);
        if (!found) warn("success: not a pattern: " + printable(*info_.success_pattern));
      }
      Outcome outcome = decide_outcome(finished_, info_, evidence_, found);
      record_.state = outcome.state;
      record_.reason = std::move(outcome.reason);
      if (outcome.state == State::succeeded && !info_.success_pattern) look_for_verdict();
      if (outcome.state == State::succeeded) require_values();
      bound_by_time_had(info_, finished_, record_);
    } else if (const std::optional<Settled> settled = read_settled(folder_)) {
      record_.state = settled->outcome;
      record_.reason = explain_settled(*settled);
      bound_by_settling(*settled, record_);
    } else {
      record_.state = claim_ || started_.readable ? State::running : State::intended;
    }
  }

  /// A program may call its result invalid and exit with 0.
  void look_for_verdict() {
    constexpr std::size_t kTail = std::size_t{64} << 10;
    if (const auto line = find_invalid_verdict(read_tail(folder_ + "/stdout.log", kTail)))
      warn(tell_invalid("stdout.log", *line));
  }

  /// A process that ended well is no success where its values are not what `success.require` asks for.
  void require_values() {
    record_.reason = broken_requirement(info_, record_);
    if (record_.reason) record_.state = State::failed;
  }

  std::string folder_, run_dir_;
  const ReadingRules* rules_;
  AttemptRecord record_;
  RunInfo info_;
  std::optional<Claim> claim_;
  Started started_;
  Finished finished_;
  FailureEvidence evidence_;
  std::vector<SeriesPoint> rank_points_;  // of run_end of every rank
  std::optional<Imported> imported_;
  std::set<std::string> nan_;  // metrics whose last value is NaN or infinite
};

}  // namespace

std::vector<std::string> nan_metrics(const AttemptRecord& record) {
  std::vector<std::string> names;
  const auto fact = record.facts.find(kNanFact);
  if (fact == record.facts.end()) return names;
  for (const std::string& name : split(fact->second, ',')) names.emplace_back(trim(name));
  return names;
}

bool is_nan_metric(const AttemptRecord& record, const std::string& metric) {
  const std::vector<std::string> names = nan_metrics(record);
  return std::find(names.begin(), names.end(), metric) != names.end();
}

AttemptRecord read_attempt(const std::string& attempt_folder, const ReadingRules* rules) {
  AttemptReader reader(attempt_folder, rules);
  try {
    reader.read();
  } catch (const std::exception& problem) {
    // No memory, for example: what was read so far stands, and nobody may conclude that the attempt never began.
    reader.record().state = State::running;
    reader.warn(fmt::format("reading stopped: {}", problem.what()));
  }
  return std::move(reader.record());
}

AttemptRecord settle_attempt(const std::string& attempt_folder, State outcome, const std::string& reason,
                             const ReadingRules* rules) {
  AttemptRecord record = read_attempt(attempt_folder, rules);
  if (is_outcome(record.state)) return record;
  write_settled(attempt_folder,
                {outcome, reason.empty() ? std::nullopt : std::optional(reason), output_tail(attempt_folder, 0)});
  return read_attempt(attempt_folder, rules);
}

}  // namespace hpcbench
