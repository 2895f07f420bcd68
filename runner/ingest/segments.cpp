#include "ingest/segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/value.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

using Pick = std::optional<double> Finished::*;

/// How the segments' values make one; absent where one of them has none.
std::optional<double> combined(const std::vector<Finished>& parts, Pick pick, bool sums) {
  double value = 0;
  for (const Finished& part : parts) {
    if (!(part.*pick)) return std::nullopt;
    value = sums ? value + *(part.*pick) : std::max(value, *(part.*pick));
  }
  return value;
}

void note_suspension(const std::vector<Finished>& parts, AttemptRecord& record) {
  double suspended_s = 0;
  for (const Finished& part : parts) suspended_s += part.suspended_s.value_or(0);
  if (suspended_s > 0) record.facts["suspended"] = fmt::format("{:.1f} s", suspended_s);
}

/// How an earlier segment ended; of one that another job's turn ended, how long it took is in `stopped`.
Finished end_of_segment(const std::string& folder) {
  Finished end = parse_finished(read_file_if_there(folder + "/finished.json").value_or(""));
  constexpr std::string_view kKey = "wall_s ";
  for (const std::string& line : split(read_file_if_there(folder + "/stopped").value_or(""), '\n')) {
    if (!end.readable && line.starts_with(kKey)) end.wall_s = Value::from_plain(line.substr(kKey.size())).number();
  }
  return end;
}

/// A metric of the author's goes before what was measured.
bool is_own(const RunInfo& info, const std::string& name) {
  return std::any_of(info.metrics.begin(), info.metrics.end(), [&](const Metric& metric) { return metric.name == name; });
}

void put_new(const RunInfo& info, AttemptRecord& record, const std::string& name, std::optional<double> value,
             const std::string& place) {
  if (!value || is_own(info, name)) return;
  record.metrics[name] = *value;
  record.places[name] = place;
}

/// From when each segment's files were made, just before its job was submitted, to its start. In a block a run also waits for
/// those before it, and what runs here waits for nobody: neither is a queue.
void wait_in_queue(const std::string& run_folder, const RunInfo& info, AttemptRecord& record) {
  if (executor_kind(info.executor).runs_here) return;
  std::vector<int> attempts = info.segment->before;
  attempts.push_back(record.key.attempt);
  const std::filesystem::path results = std::filesystem::path(run_folder).parent_path().parent_path();
  double queue_s = 0;
  for (const int attempt : attempts) {
    const std::string folder = fmt::format("{}/a{}", run_folder, attempt);
    const RunInfo segment = parse_run_json(read_file_if_there(folder + "/run.json").value_or(""));
    const Started started = parse_started(read_file_if_there(folder + "/started.json").value_or(""));
    std::error_code error;
    if (segment.batch && std::filesystem::exists(results / "batches" / *segment.batch / "blocks.txt", error)) return;
    if (!segment.intended_unix_s || !started.started_unix_s) return;
    queue_s += std::max(0.0, *started.started_unix_s - *segment.intended_unix_s);  // two hosts' clocks
  }
  put_new(info, record, "queue_s", queue_s, "run.json, started.json");
}

void count_steps(const std::string& run_folder, const RunInfo& info, AttemptRecord& record) {
  std::vector<SegmentSteps> segments;
  for (const int attempt : info.segment->before)
    segments.push_back(read_segment_steps(fmt::format("{}/a{}", run_folder, attempt)));
  segments.push_back(read_segment_steps(fmt::format("{}/a{}", run_folder, record.key.attempt)));
  const StepsDone done = steps_over_segments(segments);
  const std::string place = fmt::format("events.jsonl of {} segments", segments.size());
  put_new(info, record, "steps_redone", done.redone, place);
  put_new(info, record, "kept_steps_s", done.kept_s, place);
}

}  // namespace

bool is_of_one_segment(const std::string& metric) {
  constexpr std::array kSums = {"samples", "tokens", "optimizer_steps", "imbalance"};
  return metric.ends_with("_s") || metric.find("bytes") != std::string::npos ||
         std::find(kSums.begin(), kSums.end(), metric) != kSums.end();
}

void combine_segments(const std::string& folder, const RunInfo& info, const Finished& finished, AttemptRecord& record) {
  note_suspension({finished}, record);
  if (!info.segment) return;
  record.metrics["segments"] = static_cast<double>(info.segment->before.size() + 1);
  record.places["segments"] = "run.json";
  const std::string run_folder = std::filesystem::path(folder).parent_path().string();
  wait_in_queue(run_folder, info, record);
  if (!info.is_continued()) return;
  std::vector<Finished> parts = {finished};
  for (const int attempt : info.segment->before) parts.push_back(end_of_segment(fmt::format("{}/a{}", run_folder, attempt)));
  const auto put = [&](const std::string& name, Pick pick, bool sums) {
    if (is_own(info, name)) return;
    record.metrics.erase(name);
    put_new(info, record, name, combined(parts, pick, sums), fmt::format("{} segments", parts.size()));
  };
  put("wall_s", &Finished::wall_s, true);
  put("user_s", &Finished::user_s, true);
  put("sys_s", &Finished::sys_s, true);
  put("max_rss_bytes", &Finished::max_rss_bytes, false);
  note_suspension(parts, record);
  count_steps(run_folder, info, record);
}

void bound_by_time_had(const RunInfo& info, const Finished& finished, AttemptRecord& record) {
  if (record.state != State::timeout) return;
  if (finished.timed_out && finished.wall_s)
    record.time_limit_s = std::min(record.time_limit_s.value_or(*finished.wall_s), *finished.wall_s);
  const auto wall_s = record.metrics.find("wall_s");
  if (info.segment && wall_s != record.metrics.end()) record.time_limit_s = wall_s->second;
}

void bound_by_settling(const Settled& settled, AttemptRecord& record) {
  if (settled.outcome == State::timeout || !record.time_limit_s || !record.started_unix_s || !settled.unix_s) return;
  record.time_limit_s = std::min(*record.time_limit_s, std::max(0.0, *settled.unix_s - *record.started_unix_s));
}

SegmentSteps read_segment_steps(const std::string& folder) {
  SegmentSteps steps;
  const RunInfo info = parse_run_json(read_file_if_there(folder + "/run.json").value_or(""));
  if (info.segment) steps.from = info.segment->from;
  std::ifstream events(program_file(folder, run_dir_of(folder, info), "events.jsonl"));
  JsonMembers members;
  for (std::string line; std::getline(events, line);) {
    if (line.find("\"step\"") == std::string::npos || !scan_object(line, members)) continue;  // also one that was cut
    if (json_string(find_member(members, "event")) != "step") continue;
    const long long step = json_integer(find_member(members, "step")).value_or(0);
    if (step <= 0) {
      steps.is_complete = false;
      continue;
    }
    if (steps.first == 0) {
      steps.first = step;
    } else if (step - 1 != steps.last) {
      steps.is_complete = false;
    }
    steps.last = step;
    const std::optional<double> seconds = json_number(find_member(members, "step_s"));
    if (seconds) steps.seconds.push_back(*seconds);
  }
  return steps;
}

StepsDone steps_over_segments(const std::vector<SegmentSteps>& segments) {
  StepsDone done;
  long long reached = 0;  // by all so far
  long long redone = 0;
  std::vector<std::optional<double>> kept;  // step_s of step i + 1, of its last time
  for (const SegmentSteps& segment : segments) {
    if (!segment.is_complete || !segment.from) return {};
    if (segment.first == 0) continue;
    const long long begin = segment.first - 1;
    const bool begins_anew = begin == 0 && reached > 0;
    if (begin > reached || (begins_anew && *segment.from > 0)) return {};
    redone += reached - begin;
    reached = segment.last;
    kept.resize(static_cast<std::size_t>(begin));
    const bool all_timed = static_cast<long long>(segment.seconds.size()) == segment.last - begin;
    for (long long i = 0; i < segment.last - begin; ++i) {
      kept.push_back(all_timed ? std::optional(segment.seconds[static_cast<std::size_t>(i)]) : std::nullopt);
    }
  }
  if (reached == 0) return {};
  done.redone = static_cast<double>(redone);
  if (std::any_of(kept.begin(), kept.end(), [](const auto& seconds) { return !seconds; })) return done;
  done.kept_s = 0;
  for (const std::optional<double>& seconds : kept) *done.kept_s += *seconds;
  return done;
}

}  // namespace hpcbench
