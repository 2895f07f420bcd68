#include "cli/status_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json axes_json(const Bindings& axes) {
  Json json = Json::object();
  for (const auto& [name, value] : axes) json[name] = Json::parse(value.canonical());
  return json;
}

/// Job, node and expected start of one that has not ended.
std::string details(const RunStatus& run) {
  std::string text;
  if (is_outcome(run.state)) return text;
  if (run.attempt->job) text += " job " + *run.attempt->job;
  if (run.attempt->node) text += " on " + *run.attempt->node;
  if (run.expected_start) text += " expected start " + *run.expected_start;
  const bool had_job = run.state == State::submitted || run.state == State::running;
  if (had_job && run.job == RunStatus::Job::gone) text += " which has ended; `hpcbench run` settles it";
  return text.empty() ? text : " (" + text.substr(1) + ")";
}

}  // namespace

std::optional<double> elapsed_s(const AttemptRecord& attempt, double now_unix_s) {
  const auto wall = attempt.metrics.find("wall_s");
  if (wall != attempt.metrics.end()) return wall->second;
  // The job's own host took the time stamp; on this host the difference is what it has run so far.
  if (attempt.state == State::running && attempt.started_unix_s) return std::max(0.0, now_unix_s - *attempt.started_unix_s);
  return std::nullopt;
}

void set_state(StatusView& view, RunStatus& run, State state) {
  --view.counts[run.state];
  ++view.counts[state];
  run.state = state;
}

std::string counts_text(const std::map<State, long long>& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(state));
  }
  return text.empty() ? "none" : text;
}

std::string run_line(const RunStatus& run, std::optional<double> now_unix_s) {
  if (!run.attempt) return fmt::format("{}  {}  {}", run.run, to_string(run.state), printable(describe(run.axes)));
  const AttemptRecord& attempt = *run.attempt;
  const std::optional<double> elapsed = now_unix_s ? elapsed_s(attempt, *now_unix_s) : std::nullopt;
  return fmt::format("{}/a{}  {}{}{}{}  {}", run.run, attempt.key.attempt, to_string(run.state),
                     elapsed ? " " + human_duration(*elapsed) : "", attempt.reason ? ": " + *attempt.reason : "", details(run),
                     printable(describe(run.axes)));
}

StatusView make_status(const Study& study, const Store& store) {
  StatusView view{study.experiment.name, study.results, study.experiment.executor, {}, {}};
  for (const State state : kStates) view.counts[state] = 0;
  std::map<std::pair<std::string, RunName>, AttemptRecord> attempts;
  for (AttemptRecord& record : store.counting_attempts(study.experiment.name, false)) {
    attempts.emplace(std::pair(record.key.config_id, record.key.run), std::move(record));
  }
  for (const Configuration& configuration : study.selected.configurations) {
    for (int repeat = 1; repeat <= study.selected.repeats; ++repeat) {
      const RunName name{RunKind::repeat, repeat};
      RunStatus status{configuration.id + "/" + to_string(name),
                       study.plan.bindings(configuration),
                       State::planned,
                       std::nullopt,
                       std::nullopt,
                       RunStatus::Job::unknown};
      const auto found = attempts.find(std::pair(configuration.id, name));
      if (found != attempts.end()) {
        status.state = found->second.state;
        status.attempt = std::move(found->second);
      }
      ++view.counts[status.state];
      view.runs.push_back(std::move(status));
    }
  }
  std::sort(view.runs.begin(), view.runs.end(), [](const RunStatus& a, const RunStatus& b) { return a.run < b.run; });
  return view;
}

std::string status_text(const StatusView& view, double now_unix_s) {
  std::string text = fmt::format("{}: {} runs: {}\n", view.experiment, view.runs.size(), counts_text(view.counts));
  for (const RunStatus& run : view.runs) {
    if (run.attempt && run.state != State::succeeded) text += "  " + run_line(run, now_unix_s) + "\n";
  }
  return text;
}

std::string status_json(const StatusView& view, double now_unix_s) {
  Json json = {{"schema", 1}, {"experiment", view.experiment}, {"results", view.results}};
  for (const auto& [state, count] : view.counts) json["counts"][std::string(to_string(state))] = count;
  json["runs"] = Json::array();
  for (const RunStatus& run : view.runs) {
    Json row = {{"run", run.run}, {"axes", axes_json(run.axes)}, {"state", to_string(run.state)}};
    const AttemptRecord none;
    const AttemptRecord& attempt = run.attempt ? *run.attempt : none;
    row["attempt"] = run.attempt ? Json(fmt::format("a{}", attempt.key.attempt)) : Json(nullptr);
    row["executor"] = run.attempt ? attempt.executor : view.executor;
    row["job"] = json_or_null(attempt.job);
    row["reason"] = json_or_null(attempt.reason);
    row["node"] = json_or_null(attempt.node);
    row["elapsed_s"] = json_or_null(run.attempt ? elapsed_s(attempt, now_unix_s) : std::nullopt);
    row["expected_start"] = json_or_null(run.expected_start);
    row["exit_code"] = json_or_null(attempt.exit_code);
    row["signal"] = json_or_null(attempt.signal);
    row["path"] = run.attempt ? Json(view.results + "/" + to_string(attempt.key)) : Json(nullptr);
    json["runs"].push_back(std::move(row));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hpcbench
