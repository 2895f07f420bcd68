#include "ingest/metric_origin.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "ingest/event_files.hpp"
#include "ingest/imported.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

nlohmann::json parse_traced(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

/// The last line of a file of events that has the metric, and the last that has
/// it with this value.
struct EventTrace {
  std::optional<std::string> any, exact;
};

EventTrace origin_in_events(const std::string& file, const std::string& metric, double value) {
  EventTrace trace;
  const std::string key = json_quote(metric) + ":";
  const std::string spaced = json_quote(metric) + " :";
  std::ifstream stream(file, std::ios::binary);
  const std::string file_name = std::filesystem::path(file).filename().string();
  long long number = 0;
  for (std::string line; std::getline(stream, line);) {
    number += 1;
    if (line.find(key) == std::string::npos && line.find(spaced) == std::string::npos) continue;
    const nlohmann::json event = parse_traced(line);
    if (!event.is_object() || !event.contains(metric) || !event[metric].is_number()) continue;
    const std::string name = event.contains("event") && event["event"].is_string() ? event["event"].get<std::string>() : "?";
    trace.any = fmt::format("{}:{} ({})", file_name, number, name);
    if (event[metric].get<double>() == value) trace.exact = trace.any;
  }
  return trace;
}

}  // namespace

std::string metric_origin(const AttemptRecord& record, const std::string& folder, const std::string& metric) {
  const auto noted = record.places.find(metric);
  const bool is_noted = noted != record.places.end();
  const int noted_rank = is_noted ? rank_of_event_file(noted->second).value_or(-1) : -1;  // -1: not in events
  const std::map<int, std::string> files = find_event_files(folder, run_dir_of(folder));
  const bool in_events = files.contains(noted_rank);
  if (is_noted && !in_events) return noted->second;
  std::optional<std::string> any;
  for (const auto& [rank, file] : files) {
    if (in_events && rank != noted_rank) continue;
    const EventTrace trace = origin_in_events(file, metric, record.metrics.at(metric));
    if (trace.exact) return *trace.exact;
    if (!any) any = trace.any;
  }
  if (any) return *any;
  return is_noted ? noted->second : "";  // a sum over events, for example
}

std::string command_line_of(const std::string& folder) {
  const RunInfo run = parse_run_json(read_file_if_there(folder + "/run.json").value_or(""));
  std::vector<std::string> words;
  if (run.shell) words = {"bash", "-c"};
  for (const std::string& word : run.argv) words.push_back(shell_quote(word));
  return join(words, " ");
}

std::vector<std::string> imported_sources(const std::string& folder) {
  std::vector<std::string> lines;
  const std::optional<std::string> text = read_file_if_there(folder + "/" + kImportedFile);
  const std::optional<Imported> imported = text ? parse_imported(*text) : std::nullopt;
  if (!imported) return lines;
  for (const ImportedSource& source : imported->sources) {
    const std::string line = source.line ? fmt::format(":{}", *source.line) : "";
    lines.push_back(fmt::format("{}{} (sha256 {})", source.path, line, source.sha256));
  }
  return lines;
}

}  // namespace hpcbench
