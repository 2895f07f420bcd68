#include "study/status_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "study/index.hpp"
#include "study/kept/changed_program.hpp"
#include "study/live_status.hpp"
#include "study/preparing.hpp"
#include "study/rounds.hpp"
#include "submit/continuation.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

/// One of the list of runs: written without a tree of values, which a million runs would each build and destroy.
void write_run(JsonWriter& json, const StatusView& view, const RunStatus& run, double now_unix_s) {
  const AttemptRecord none;
  const AttemptRecord& attempt = run.attempt ? *run.attempt : none;
  const auto of_attempt = [&](auto value) { return run.attempt ? std::optional(std::move(value)) : std::nullopt; };
  json.begin_object(JsonLayout::lines).member("run", run.run).key("axes").begin_object(JsonLayout::lines);
  for (const auto& [name, value] : run.axes) json.member(name, value);
  json.end().member("state", to_string(run.state)).member("attempt", of_attempt(fmt::format("a{}", attempt.key.attempt)));
  json.member("executor", run.attempt ? attempt.executor : view.executor).member("job", attempt.job);
  json.member("reason", run.not_begun.empty() ? attempt.reason : run.not_begun).member("node", attempt.node);
  json.member("elapsed_s", run.attempt ? elapsed_s(attempt, now_unix_s) : std::nullopt);
  json.member("expected_start", run.expected_start).member("exit_code", attempt.exit_code).member("signal", attempt.signal);
  if (!run.set_aside.empty()) json.member("set_aside", run.set_aside);
  json.member("path", of_attempt(view.results + "/" + to_string(attempt.key))).end();
}

/// Names of the repeats as texts sort them: r100 before r11.
std::vector<RunName> repeats_in_text_order(int repeats) {
  std::vector<RunName> names;
  for (int repeat = 1; repeat <= repeats; ++repeat) names.push_back({RunKind::repeat, repeat});
  std::sort(names.begin(), names.end(), [](RunName a, RunName b) { return to_string(a) < to_string(b); });
  return names;
}

/// Every run of the plan, sorted; none has an attempt yet. Ids are equally long, so runs sort by them, then by name.
std::vector<RunStatus> planned_runs(const Study& study, const std::vector<RunName>& repeats) {
  const Plan& plan = study.selected();
  const PreparationView preparations(study, study.selected());
  std::vector<RunStatus> runs;
  runs.reserve(plan.configurations.size() * repeats.size());
  for (const std::size_t index : plan.by_id) {
    const Configuration& configuration = plan.configurations[index];
    const std::string obstacle = preparations.obstacle(configuration);
    const std::string why = obstacle.empty() ? preparations.awaited(configuration) : obstacle;
    const std::string not_begun = why.empty() ? "" : "not begun: " + why;
    for (const RunName name : repeats) {
      runs.push_back({configuration.id + "/" + to_string(name), study.experiment.shown_axes(study.plan.bindings(configuration)),
                      State::planned, std::nullopt, std::nullopt, JobState::unknown, not_begun, !obstacle.empty()});
    }
  }
  return runs;
}

/// Job, node and expected start of one that has not ended.
std::string details(const RunStatus& run) {
  std::string text;
  if (is_outcome(run.state)) return text;
  if (run.attempt->job) text += " job " + *run.attempt->job;
  if (run.attempt->node) text += " on " + *run.attempt->node;
  if (run.expected_start) text += " expected start " + *run.expected_start;
  const bool had_job = run.state == State::submitted || run.state == State::running;
  if (had_job && run.job == JobState::ended) text += " which has ended; `hpcbench run` settles it";
  return text.empty() ? text : " (" + text.substr(1) + ")";
}

/// Counts, of each metric, the runs that succeeded without a value of it.
class MissedCounter {
 public:
  void add(const Work& work, const AttemptRecord& attempt) {
    if (attempt.state != State::succeeded) return;
    for (const Metric& metric : work.metrics) {
      const auto [found, is_new] = counted_.try_emplace(metric.name);
      MissedMetric& counts = found->second;
      if (is_new) counts = {metric.name, metric.file, metric.source, metric.selector, 0, 0, 0};
      ++counts.of;
      if (attempt.metrics.contains(metric.name)) continue;
      ++counts.runs;
      if (is_nan_metric(attempt, metric.name)) ++counts.nan;
    }
  }
  std::vector<MissedMetric> missed() const {
    std::vector<MissedMetric> list;
    for (const auto& [name, counts] : counted_) {
      if (counts.runs > 0) list.push_back(counts);
    }
    return list;
  }

 private:
  std::map<std::string, MissedMetric> counted_;
};

std::string missed_line(const MissedMetric& missed) {
  if (missed.nan > 0) {
    return fmt::format(
        "  metric {}: no value in {} of {} runs that succeeded, {} of them nan; `success: {{require: [{} < 1e300]}}` "
        "counts such runs as failed\n",
        missed.name, missed.runs, missed.of, missed.nan, missed.name);
  }
  if (missed.file.empty()) {
    return fmt::format(
        "  metric {}: no value in {} of {} runs that succeeded: `hpcbench show` says why the formula {} gives none\n",
        missed.name, missed.runs, missed.of, printable(missed.selector));
  }
  return fmt::format(
      "  metric {}: no value in {} of {} runs that succeeded ({} {} in {}); mend it in the experiment file, and the kept logs "
      "are "
      "read again\n",
      missed.name, missed.runs, missed.of, missed.source, printable(missed.selector), printable(missed.file));
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

namespace {

StateCounts imported_counts(const StatusView& view) {
  StateCounts counts;
  for (const RunStatus& run : view.imported) counts[run.state] += run.set_aside.empty() ? 1 : 0;
  return counts;
}

}  // namespace

std::string headline(const StatusView& view) {
  std::vector<std::string> parts;
  if (!view.runs.empty()) {
    parts.push_back(fmt::format("{} runs: {}{}", view.runs.size(), view.counts.text(),
                                view.set_aside == 0 ? "" : fmt::format(", {} set aside", view.set_aside)));
  }
  if (!view.imported.empty()) {
    parts.push_back(fmt::format("{}: {}",
                                counted(static_cast<long long>(view.imported.size()), "imported run", "imported runs"),
                                imported_counts(view).text()));
  }
  if (parts.empty()) {
    parts.push_back(fmt::format("no runs of its own, and none imported yet: `hpcbench report {}` takes in what `import` names",
                                printable(view.named)));
  }
  return view.experiment + ": " + join(parts, "; ");
}

std::string run_line(const RunStatus& run, std::optional<double> now_unix_s) {
  if (!run.attempt) {
    return fmt::format("{}  {}  {}", run.run, run.not_begun.empty() ? std::string(shown_name(run.state)) : run.not_begun,
                       printable(describe(run.axes)));
  }
  const AttemptRecord& attempt = *run.attempt;
  const std::optional<double> elapsed = now_unix_s ? elapsed_s(attempt, *now_unix_s) : std::nullopt;
  if (!run.set_aside.empty()) {
    return fmt::format("{}/a{}  set aside: {} ({})  {}", run.run, attempt.key.attempt, run.set_aside, shown_name(run.state),
                       printable(describe(run.axes)));
  }
  return fmt::format("{}/a{}  {}{}{}{}  {}", run.run, attempt.key.attempt, shown_name(run.state),
                     elapsed ? " " + human_duration(*elapsed) : "", attempt.reason ? ": " + *attempt.reason : "", details(run),
                     printable(describe(run.axes)));
}

namespace {

/// Says of runs whose last segment has ended whether another one follows, and why none does.
void note_continuations(StatusView& view, const Study& study) {
  const std::optional<Continuation>& continuation = study.experiment.continuation;
  if (!continuation) return;
  const std::optional<std::string> owner = experiment_owner(study.results);
  view.carries_on = owner ? *owner + " does it" : "`hpcbench run " + study.experiment.path + "` does it";
  for (RunStatus& run : view.runs) {
    if (!run.attempt || !run.set_aside.empty() || !continuation->goes_on_after(run.state)) continue;
    AttemptRecord& attempt = *run.attempt;
    const std::string why = why_not_continued(study.experiment, study.results, attempt.key, run.state);
    if (why.empty()) ++view.to_continue;
    attempt.reason = (attempt.reason ? *attempt.reason + "; " : "") + (why.empty() ? "waits to be continued" : why);
  }
}

/// Beyond the look that a row goes on to, no run of it is planned yet.
void add_rounds(StatusView& view, const Study& study, const Store& store) {
  const RoundsView rounds = look_at_rounds(study, store);
  view.rounds = rounds_lines(study, rounds);
  view.rounds_json = rounds_json(study, rounds);
  if (!may_begin_block(study, rounds)) {
    for (RunStatus& run : view.runs) run.held = run.held || run.state == State::planned;
    if (view.to_continue > 0) view.carries_on = "`hpcbench run " + study.experiment.path + "` does it once `budget` is larger";
  }
  if (!study.experiment.repeat_rule) return;
  std::map<std::string, int> last;
  for (std::size_t i = 0; i < rounds.rows.size(); ++i)
    last.emplace(study.plan.configurations[i].id, last_repeat(rounds.rows[i]));
  const auto none_planned = [&](const RunStatus& run) {
    const std::size_t slash = run.run.find('/');
    const std::optional<RunName> name = parse_run_name(run.run.substr(slash + 1));
    return !run.attempt && name && name->number > last[run.run.substr(0, slash)];
  };
  view.counts[State::planned] -= static_cast<long long>(std::erase_if(view.runs, none_planned));
}

}  // namespace

namespace {

RunStatus imported_run(const Study& study, const Configuration& configuration, AttemptRecord&& attempt) {
  RunStatus run;
  run.run = configuration.id + "/" + to_string(attempt.key.run);
  run.axes = study.experiment.shown_axes(study.plan.bindings(configuration));
  run.state = attempt.state;
  attempt.metrics.erase_if([](const auto& metric) { return metric.first != "wall_s"; });
  run.attempt = std::move(attempt);
  return run;
}

}  // namespace

namespace {

/// Adds the runs of which no attempt counts since they were set aside, and are not measured again.
void add_set_aside_runs(StatusView& view, const Study& study, const Store& store) {
  std::vector<AttemptRecord> last;  // of each run
  for (AttemptRecord& record : store.set_aside_attempts(study.experiment.name, false)) {
    if (!last.empty() && last.back().key.config_id == record.key.config_id && last.back().key.run == record.key.run)
      last.pop_back();
    last.push_back(std::move(record));
  }
  std::map<std::string, RunStatus*> runs;
  for (RunStatus& run : last.empty() ? std::span<RunStatus>() : std::span<RunStatus>(view.runs)) runs.emplace(run.run, &run);
  for (const RunStatus& run : view.imported) runs.emplace(run.run, nullptr);
  for (AttemptRecord& record : last) {
    const std::optional<std::size_t> configuration = study.selected().find(record.key.config_id);
    const std::string why = record.aside->why;
    if (!configuration || record.aside->again) continue;
    const auto found = runs.find(record.key.config_id + "/" + to_string(record.key.run));
    if (record.key.run.is_imported() && found == runs.end()) {
      view.imported.push_back(imported_run(study, study.selected().configurations[*configuration], std::move(record)));
      view.imported.back().set_aside = why;
      continue;
    }
    if (found == runs.end() || found->second == nullptr || found->second->attempt) continue;
    RunStatus& run = *found->second;
    --view.counts[run.state];
    ++view.set_aside;
    run.state = record.state;
    run.set_aside = why;
    run.not_begun.clear();
    record.metrics.erase_if([](const auto& metric) { return metric.first != "wall_s"; });
    run.attempt = std::move(record);
  }
}

}  // namespace

StatusView make_status(const Study& study, const Store& store) {
  StatusView view{study.experiment.name, study.results, study.experiment.executor, {}, {}};
  for (const State state : kStates) view.counts[state] = 0;
  view.named = study.named();
  const std::vector<RunName> repeats = repeats_in_text_order(study.selected().repeats);
  view.runs = planned_runs(study, repeats);
  view.counts[State::planned] = static_cast<long long>(view.runs.size());
  std::vector<std::size_t> place_of_repeat(repeats.size());
  for (std::size_t i = 0; i < repeats.size(); ++i) place_of_repeat[static_cast<std::size_t>(repeats[i].number) - 1] = i;
  // Attempts come sorted by configuration, as the runs are: the next one's is this one or further on.
  const std::vector<std::size_t>& by_id = study.selected().by_id;
  std::size_t place = 0;
  std::set<std::pair<std::string, RunName>> again;
  for (const AttemptKey& key : attempts_tried_again(study.experiment, store.states(study.experiment.name)))
    again.emplace(key.config_id, key.run);
  MissedCounter missed;
  store.visit_counting_attempts(study.experiment.name, [&](AttemptRecord&& attempt) {
    const auto id_at = [&](std::size_t at) -> const std::string& { return study.selected().configurations[by_id[at]].id; };
    while (place < by_id.size() && id_at(place) < attempt.key.config_id) ++place;
    if (place == by_id.size() || id_at(place) != attempt.key.config_id) return;
    const RunName name = attempt.key.run;
    if (name.is_imported()) {
      view.imported.push_back(imported_run(study, study.selected().configurations[by_id[place]], std::move(attempt)));
      return;
    }
    if (!name.is_repeat() || name.number < 1 || name.number > study.selected().repeats) return;
    RunStatus& run = view.runs[place * repeats.size() + place_of_repeat[static_cast<std::size_t>(name.number) - 1]];
    set_state(view, run, attempt.state);
    view.tried_again += again.contains({attempt.key.config_id, name}) ? 1 : 0;
    run.not_begun.clear();
    missed.add(*study.selected().configurations[by_id[place]].work, attempt);
    attempt.metrics.erase_if([](const auto& metric) { return metric.first != "wall_s"; });
    run.attempt = std::move(attempt);
  });
  add_set_aside_runs(view, study, store);
  view.missed = missed.missed();
  if (!study.is_unpacked) view.changed = changed_since_runs({study.experiment, study.selected(), study.results}, store);
  note_continuations(view, study);
  if (!study.experiment.repeat_rule && !study.experiment.budget) return view;
  try {
    add_rounds(view, study, store);
  } catch (const InputError& error) {  // the metric that decides has no value in any run
    view.rounds.emplace_back(error.what());
  }
  return view;
}

std::string status_text(const StatusView& view, double now_unix_s, bool all) {
  std::string text = headline(view) + "\n";
  if (view.tried_again > 0) {
    text += fmt::format("  {} of them {} tried again; only the last attempt of a run counts\n", view.tried_again,
                        view.tried_again == 1 ? "was" : "were");
  }
  if (view.to_continue > 0) {
    text += fmt::format("  {} to be continued from what {} saved; {}\n", counted(view.to_continue, "run waits", "runs wait"),
                        view.to_continue == 1 ? "it has" : "they have", view.carries_on);
  }
  if (view.owner || waits_for_owner(view)) text += "  " + owner_text(view) + "\n";
  for (const MissedMetric& missed : view.missed) text += missed_line(missed);
  for (const ProgramChange& change : view.changed) text += "  " + printable(change.text()) + "\n";
  for (const std::string& line : view.rounds) text += "  " + printable(line) + "\n";
  for (const RunStatus& run : view.runs) {
    if (all || !run.not_begun.empty() || !run.set_aside.empty() || (run.attempt && run.state != State::succeeded))
      text += "  " + run_line(run, now_unix_s) + "\n";
  }
  for (const RunStatus& run : view.imported) {
    if (all || !run.set_aside.empty() || run.state != State::succeeded) text += "  " + run_line(run, now_unix_s) + "\n";
  }
  return text;
}

void write_status_json(const StatusView& view, double now_unix_s, const std::function<void(const std::string&)>& write) {
  JsonWriter json(1);
  const auto write_counts = [](JsonWriter& json, const StateCounts& counts) {
    json.begin_object(JsonLayout::lines);
    for (const auto& [state, count] : counts) json.member(to_string(state), count);
    json.end();
  };
  json.begin_object(JsonLayout::lines).member("schema", 1).member("experiment", view.experiment);
  write_counts(json.member("results", view.results).key("counts"), view.counts);
  write_counts(json.key("imported"), imported_counts(view));
  json.member("owner", view.owner).key("without_value").begin_array(JsonLayout::lines);
  for (const MissedMetric& missed : view.missed) {
    json.begin_object(JsonLayout::lines).member("metric", missed.name).member("file", missed.file);
    json.member(missed.source, missed.selector).member("runs", missed.runs).member("of", missed.of);
    if (missed.nan > 0) json.member("nan", missed.nan);
    json.end();
  }
  json.end().key("changed").begin_array(JsonLayout::lines);
  for (const ProgramChange& change : view.changed) {
    json.begin_object(JsonLayout::lines).member("file", change.name).member("runs", change.runs).member("of", change.of).end();
  }
  json.end().member("set_aside", view.set_aside).member("tried_again", view.tried_again);
  if (view.to_continue > 0) json.member("to_continue", view.to_continue);
  if (!view.rounds_json.empty()) json.member("looks", JsonText{view.rounds_json});
  json.key("runs").begin_array(JsonLayout::lines);
  for (const RunStatus& run : view.runs) {
    write_run(json, view, run, now_unix_s);
    write(json.take());
  }
  write(json.end().end().take() + "\n");
}

}  // namespace hpcbench
