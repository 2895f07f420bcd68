#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/events.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"
#include "ingest/outcome.hpp"
#include "ingest/run_info.hpp"
#include "ingest/settled.hpp"
#include "launch/claim.hpp"
#include "launch/job_files.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// `events.jsonl` is rank 0's, `events.R.jsonl` rank R's.
std::optional<int> rank_of_event_file(std::string_view name) {
  constexpr std::string_view kBegin = "events.";
  constexpr std::string_view kEnd = ".jsonl";
  if (name == "events.jsonl") return 0;
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size()) return std::nullopt;
  const std::string_view digits = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  int rank = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return whole && rank > 0 ? std::optional(rank) : std::nullopt;
}

/// Reads one attempt's folder into a record, file by file.
class AttemptReader {
 public:
  explicit AttemptReader(const std::string& folder) {
    std::error_code error;
    const fs::path absolute = fs::absolute(folder, error);
    folder_ = (error ? fs::path(folder) : absolute).lexically_normal().string();
    while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
  }

  void read() {
    read_identity();
    read_start();
    read_finish();
    read_events();
    add_metric("wall_s", finished_.wall_s);
    read_metrics();
    decide();
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

  void read_identity() {
    info_ = read_json("run.json", true, parse_run_json);
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
    record_.path = to_string(record_.key);
    const std::string named = fmt::format("{}/{}/{}/a{}", info_.experiment, info_.config_id, info_.run, info_.attempt);
    if (info_.readable && named != record_.experiment + '/' + record_.path) {
      warn(fmt::format("run.json: says that it is {}; the folder's name counts", named));
    }
    record_.axes = info_.axes;
    record_.gpus = info_.gpus;
    record_.batch = info_.batch;
    record_.executor = info_.executor;
    record_.intended_unix_s = info_.intended_unix_s;
    record_.time_limit_s = info_.time_limit_s;
    for (const MetricSpec& metric : info_.metrics) {
      if (!metric.unit.empty()) record_.units[metric.name] = printable(metric.unit);
    }
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
  }

  void read_finish() {
    finished_ = read_json("finished.json", false, parse_finished);
    record_.finished_unix_s = finished_.finished_unix_s;
    record_.exit_code = finished_.exit_code;
    record_.signal = finished_.signal;
    if (!record_.time_limit_s) record_.time_limit_s = finished_.time_limit_s;
    for (const std::string& host : {started_.host, finished_.host, claim_ && claim_->process ? claim_->process->host : ""}) {
      if (!record_.node && !host.empty()) record_.node = printable(host);
    }
  }

  void read_events() {
    std::vector<std::pair<int, std::string>> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (const std::optional<int> rank = rank_of_event_file(name)) files.emplace_back(*rank, name);
    }
    std::sort(files.begin(), files.end());
    for (const auto& [rank, name] : files) read_event_file(rank, name);
    for (const auto& [name, size] : finished_.files) warn_if_short(name, size);
    // What the launcher measured stands in for what the program did not say.
    for (const auto& [name, value] : {std::pair("user_s", finished_.user_s), std::pair("sys_s", finished_.sys_s),
                                      std::pair("max_rss_bytes", finished_.max_rss_bytes)}) {
      if (!record_.metrics.contains(name)) add_metric(name, value);
    }
    for (const auto& [name, text] : info_.facts) record_.facts[name] = text;
  }

  void read_event_file(int rank, const std::string& name) {
    EventReader reader(name);
    const auto problem = read_lines(folder_ + '/' + name, [&](std::string_view piece) {
      reader.feed(piece);
      return true;
    });
    if (problem) warn(fmt::format("{}: {}", name, *problem));
    EventSummary events = reader.finish();
    for (std::string& warning : events.warnings) warn(std::move(warning));
    if (events.first_error && (!evidence_.error || finished_.first_failed_rank == rank)) evidence_.error = events.first_error;
    if (events.out_of_memory && !evidence_.out_of_memory) evidence_.out_of_memory = events.out_of_memory;
    if (rank == 0) {
      take_rank_0(std::move(events));
    } else if (const auto train_s = events.run_end.find("train_s"); train_s != events.run_end.end()) {
      const auto known = record_.metrics.find("train_s");
      add_metric("train_s", known == record_.metrics.end() ? train_s->second : std::max(known->second, train_s->second));
    }
  }

  void take_rank_0(EventSummary events) {
    for (const auto* values : {&events.totals, &events.last_values, &events.run_end}) {
      for (const auto& [name, value] : *values) add_metric(name, value);
    }
    record_.series = std::move(events.series);
    record_.facts.merge(events.facts);
    if (events.hosts && !events.hosts->empty()) record_.node = events.hosts;
    for (const char* name : {"samples", "optimizer_steps"}) {
      const auto value = record_.metrics.find(name);
      if (value != record_.metrics.end()) record_.facts[name] = fmt::format("{}", value->second);
    }
  }

  void warn_if_short(const std::string& name, long long size) {
    if (!rank_of_event_file(name)) return;
    std::error_code error;
    const auto here = fs::file_size(folder_ + '/' + name, error);
    if (error) {
      warn(fmt::format("{}: missing, but {} bytes were written", name, size));
    } else if (size > 0 && here < static_cast<unsigned long long>(size)) {
      warn(fmt::format("{}: {} of {} bytes are here", name, here, size));
    }
  }

  void read_metrics() {
    for (const MetricSpec& metric : info_.metrics) {
      MetricScanner scanner(metric);
      if (const std::optional<std::string> error = scanner.error()) {
        warn(fmt::format("metric {}: not a pattern: {}", metric.name, *error));
        continue;
      }
      const std::vector<std::string> files = expand_glob(metric.file, folder_, info_.workdir);
      for (const std::string& file : files) {
        const auto problem = read_lines(file, [&](std::string_view piece) {
          scanner.feed(piece);
          return true;
        });
        if (problem) warn(fmt::format("metric {}: {}: {}", metric.name, file, *problem));
      }
      take_matches(metric, files.empty(), scanner.matches());
    }
  }

  void take_matches(const MetricSpec& metric, bool no_files, MetricMatches& matches) {
    // A metric of the author's replaces one of the same name that events gave.
    if (matches.last) add_metric(metric.name, matches.last);
    if (metric.series && matches.count > 0) {
      std::erase_if(record_.series, [&](const SeriesPoint& point) { return point.name == metric.name; });
      std::move(matches.series.begin(), matches.series.end(), std::back_inserter(record_.series));
    }
    if (matches.not_numbers > 0) {
      warn(fmt::format("metric {}: {} matches are no numbers, the first is `{}`", metric.name, matches.not_numbers,
                       matches.first_not_number));
    } else if (!matches.last && finished_.readable) {
      warn(fmt::format("metric {}: {} {}", metric.name, no_files ? "no file is" : "no match in", printable(metric.file)));
    }
  }

  void add_metric(const std::string& name, std::optional<double> value) {
    if (value && std::isfinite(*value)) record_.metrics[name] = *value;
  }

  void decide() {
    if (claim_ && claim_->revoked) {
      record_.state = State::cancelled;
      record_.reason = printable(claim_->why);
      if (finished_.readable) warn("finished.json: of an attempt that was revoked; it does not count");
    } else if (finished_.readable) {
      std::optional<bool> found;
      if (info_.success_pattern) {
        found = file_holds(folder_ + "/stdout.log", *info_.success_pattern);
        if (!found) warn("success: not a pattern: " + printable(*info_.success_pattern));
      }
      Outcome outcome = decide_outcome(finished_, info_, evidence_, found);
      record_.state = outcome.state;
      record_.reason = std::move(outcome.reason);
    } else if (const std::optional<Settled> settled = read_settled(folder_)) {
      record_.state = settled->outcome;
      record_.reason = explain_settled(*settled);
    } else {
      record_.state = claim_ || started_.readable ? State::running : State::intended;
    }
  }

  std::string folder_;
  AttemptRecord record_;
  RunInfo info_;
  std::optional<Claim> claim_;
  Started started_;
  Finished finished_;
  FailureEvidence evidence_;
};

}  // namespace

AttemptRecord read_attempt(const std::string& attempt_folder) {
  AttemptReader reader(attempt_folder);
  try {
    reader.read();
  } catch (const std::exception& problem) {
    // No memory, for example: what was read so far stands, and nobody may conclude that the attempt never began.
    reader.record().state = State::running;
    reader.warn(fmt::format("reading stopped: {}", problem.what()));
  }
  return std::move(reader.record());
}

AttemptRecord settle_attempt(const std::string& attempt_folder, State outcome, const std::string& reason) {
  AttemptRecord record = read_attempt(attempt_folder);
  if (is_outcome(record.state)) return record;
  write_settled(attempt_folder,
                {outcome, reason.empty() ? std::nullopt : std::optional(reason), output_tail(attempt_folder, 0)});
  return read_attempt(attempt_folder);
}

}  // namespace hpcbench
