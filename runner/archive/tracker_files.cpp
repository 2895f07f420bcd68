#include "archive/tracker_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

/// FNV-1a: names of folders that stay the same from one export to the next.
std::uint64_t stable_number(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

long long milliseconds(std::optional<double> seconds) { return seconds ? static_cast<long long>(*seconds * 1000) : 0; }

/// A name that MLflow accepts: letters, digits, `_`, `-`, `.`, blanks.
std::string mlflow_name(const std::string& name) {
  std::string made = name;
  std::replace_if(
      made.begin(), made.end(),
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view("_-. ").find(c) == std::string_view::npos;
      },
      '_');
  return made;
}

int mlflow_status(State state) {
  constexpr int kRunning = 1, kScheduled = 2, kFinished = 3, kFailed = 4, kKilled = 5;
  if (state == State::succeeded) return kFinished;
  if (state == State::cancelled) return kKilled;
  if (is_outcome(state)) return kFailed;
  return state == State::running ? kRunning : kScheduled;
}

const char* wandb_state(State state) {
  if (state == State::succeeded) return "finished";
  if (state == State::cancelled) return "killed";
  if (state == State::preempted) return "preempted";
  if (is_outcome(state)) return "failed";
  return state == State::running ? "running" : "pending";
}

void write_new(const fs::path& path, const std::string& text) {
  make_folders(path.parent_path(), kUserFolder);
  if (!create_exclusively(path, text, kUserFile)) throw InputError(fmt::format("error: {} exists already", path.string()));
}

std::string run_name(const AttemptRecord& record) { return record.key.config_id + '/' + to_string(record.key.run); }

void write_run(const AttemptRecord& record, const std::string& experiment_id, const fs::path& experiment) {
  const std::string name = run_name(record);
  const std::string id = fmt::format("{:016x}{:016x}", stable_number(record.experiment + '/' + name),
                                     stable_number(name + '/' + record.experiment));
  const fs::path folder = experiment / id;
  const long long end = milliseconds(record.finished_unix_s);
  const long long start = record.started_unix_s ? milliseconds(record.started_unix_s) : end;
  write_new(
      folder / "meta.yaml",
      fmt::format("artifact_uri: {}\nend_time: {}\nentry_point_name: ''\nexperiment_id: '{}'\nlifecycle_stage: active\nrun_id: "
                  "{}\nrun_name: {}\nrun_uuid: {}\n"
                  "source_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: {}\nstatus: {}\ntags: []\nuser_id: ''\n",
                  json_quote((folder / "artifacts").string()), end, experiment_id, id, json_quote(name), id, start,
                  mlflow_status(record.state)));
  make_folders(folder / "artifacts", kUserFolder);
  for (const auto& [axis, value] : record.axes) write_new(folder / "params" / mlflow_name(axis), value.text());
  std::map<std::string, std::string> lines;
  for (const SeriesPoint& point : record.series)
    lines[mlflow_name(point.name)] += fmt::format("{} {} {}\n", end, point.value, point.index);
  for (const auto& [metric, value] : record.metrics) {
    std::string& text = lines[mlflow_name(metric)];
    const std::string points = text;
    const long long last = points.empty() ? 0 : std::stoll(points.substr(points.rfind(' ') + 1)) + 1;
    if (!points.ends_with(fmt::format(" {} {}\n", value, last - 1))) text += fmt::format("{} {} {}\n", end, value, last);
  }
  for (const auto& [metric, text] : lines) write_new(folder / "metrics" / metric, text);
  write_new(folder / "tags/mlflow.runName", name);
  write_new(folder / "tags/hpcbench.outcome", std::string(to_string(record.state)));
  if (record.reason) write_new(folder / "tags/hpcbench.reason", *record.reason);
  for (const auto& [metric, unit] : record.units) write_new(folder / "tags" / ("hpcbench.unit." + mlflow_name(metric)), unit);
  for (const auto& [fact, text] : record.facts) write_new(folder / "tags" / ("hpcbench." + mlflow_name(fact)), text);
}

std::string quoted_cell(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

/// The cells of a run by heading.
std::map<std::string, std::string> cells_of_run(const AttemptRecord& record) {
  std::map<std::string, std::string> cells = {{"Name", run_name(record)}, {"State", wandb_state(record.state)}};
  if (record.started_unix_s)
    cells["Created"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", fmt::gmtime(static_cast<std::time_t>(*record.started_unix_s)));
  if (const auto wall = record.metrics.find("wall_s"); wall != record.metrics.end())
    cells["Runtime"] = fmt::format("{}", wall->second);
  for (const auto& [fact, text] : record.facts) cells["fact." + fact] = text;
  for (const auto& [metric, value] : record.metrics) cells[metric] = fmt::format("{}", value);
  for (const auto& [axis, value] : record.axes) cells[axis] = value.text();
  return cells;
}

}  // namespace

void write_mlflow_store(const std::string& experiment, const std::vector<AttemptRecord>& runs, const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
    throw InputError(fmt::format("error: {} is not a new or empty folder", folder));
  const std::string id = std::to_string(stable_number(experiment) % 1'000'000'000'000'000'000U);
  const fs::path home = fs::absolute(folder).lexically_normal() / id;
  long long first = 0;
  for (const AttemptRecord& record : runs) first = std::max(first, milliseconds(record.finished_unix_s));
  write_new(home / "meta.yaml", fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\nlast_update_time: "
                                            "{}\nlifecycle_stage: active\nname: {}\n",
                                            json_quote(home.string()), first, id, first, json_quote(experiment)));
  for (const AttemptRecord& record : runs) write_run(record, id, home);
}

std::string runs_as_wandb_csv(const std::vector<AttemptRecord>& runs) {
  std::vector<std::string> headings = {"Name", "State", "Created", "Runtime"};
  std::set<std::string> others;
  std::vector<std::map<std::string, std::string>> rows;
  for (const AttemptRecord& record : runs) {
    for (const auto& [axis, value] : record.axes) {
      if (std::find(headings.begin(), headings.end(), axis) == headings.end()) headings.push_back(axis);
    }
    rows.push_back(cells_of_run(record));
    for (const auto& [heading, cell] : rows.back()) others.insert(heading);
  }
  for (const std::string& heading : others) {
    if (std::find(headings.begin(), headings.end(), heading) == headings.end()) headings.push_back(heading);
  }
  std::string text;
  for (std::size_t i = 0; i < headings.size(); ++i) text += (i == 0 ? "" : ",") + quoted_cell(headings[i]);
  text += '\n';
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < headings.size(); ++i) {
      const auto cell = row.find(headings[i]);
      text += (i == 0 ? "" : ",") + quoted_cell(cell == row.end() ? "" : cell->second);
    }
    text += '\n';
  }
  return text;
}

}  // namespace hpcbench
