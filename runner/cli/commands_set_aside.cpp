#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "study/index.hpp"
#include "study/kept/set_aside.hpp"
#include "study/run_reference.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

struct AsideOptions {
  StudyOptions study;
  std::vector<std::string> runs;
  std::string why;
  bool undo = false;
};

/// A run, and up to which attempt; 0: all.
struct ChosenRun {
  std::string config_id;
  RunName run;
  int last = 0;

  friend auto operator<=>(const ChosenRun&, const ChosenRun&) = default;
};

std::string name_of_run(const ChosenRun& chosen) { return chosen.config_id + "/" + to_string(chosen.run); }

/// Whether a reference ends with an attempt: `.../r03/a1`.
bool names_attempt(const std::string& reference) {
  const std::size_t slash = reference.rfind('/');
  return slash != std::string::npos && parse_attempt_key("x/r01" + reference.substr(slash)).has_value();
}

/// By experiment.
using ChosenRuns = std::map<std::string, std::vector<ChosenRun>>;

ChosenRuns runs_named(const AsideOptions& options, const std::string& root) {
  ChosenRuns chosen;
  for (const std::string& reference : options.runs) {
    const FoundRun found = find_run(root, reference);
    if (found.record.key.run.is_warmup())
      throw InputError(fmt::format("error: `{}` is a warm-up, which counts in no table", reference));
    chosen[found.experiment].push_back(
        {found.record.key.config_id, found.record.key.run, names_attempt(reference) ? found.record.key.attempt : 0});
  }
  return chosen;
}

/// All runs of the configurations that --only leaves.
ChosenRuns runs_selected(const AsideOptions& options) {
  const Study study = load_study(options.study);
  const IndexView index = open_for_reading(study);
  ChosenRuns chosen;
  std::vector<ChosenRun>& runs = chosen[study.experiment.name];
  for (const AttemptState& run : counting_states(index.states)) {
    const bool wanted = options.undo || run.standing == Standing::normal;
    if (wanted && is_outcome(run.state) && study.selected().find(run.key.config_id))
      runs.push_back({run.key.config_id, run.key.run});
  }
  return chosen;
}

/// Repeats whose number is decided by their values cannot lose some of them.
void require_fixed_repeats(const std::string& root, const std::string& experiment) {
  StudyOptions options;
  options.results = root;
  options.file = experiment;
  std::optional<Study> study;
  try {
    study = load_study(options);
  } catch (const InputError&) {
    return;  // imports alone, or a file that is gone: nothing runs by it
  }
  if (!study->experiment.repeat_rule) return;
  throw InputError(
      fmt::format("{}: error: `repeats.until` decides by all runs of a row, so none can be left out\n  = measure the row "
                  "again: `hpcbench run "
                  "{} --again --only AXIS=VALUE`",
                  study->experiment.repeat_rule->place, study->named()));
}

/// The attempts to change. InputError if a run has not ended.
std::vector<AttemptKey> attempts_of(const std::vector<ChosenRun>& chosen, const std::vector<AttemptState>& states) {
  std::vector<AttemptKey> keys;
  for (const ChosenRun& run : chosen) {
    const auto is_open = [&](const AttemptState& state) {
      return state.key.config_id == run.config_id && state.key.run == run.run && !is_outcome(state.state);
    };
    if (std::any_of(states.begin(), states.end(), is_open)) {
      throw InputError(
          fmt::format("error: {} has not ended: set it aside once it has, or end it with `hpcbench cancel`", name_of_run(run)));
    }
    const std::vector<AttemptKey> ended = ended_attempts(states, run.config_id, run.run, run.last);
    keys.insert(keys.end(), ended.begin(), ended.end());
  }
  return keys;
}

std::string list_of_runs(const std::vector<ChosenRun>& runs) {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(runs.size(), kNamed); ++i) names.push_back(name_of_run(runs[i]));
  return join(names, ", ") + (runs.size() > kNamed ? fmt::format(" and {} more", runs.size() - kNamed) : "");
}

/// A later attempt of a run counts although an earlier one was taken back.
void note_later_attempts(const std::vector<AttemptState>& states, const std::vector<AttemptKey>& undone) {
  std::vector<std::string> names;
  for (const AttemptState& run : counting_states(states)) {
    const bool is_older = std::any_of(undone.begin(), undone.end(), [&](const AttemptKey& key) {
      return key.config_id == run.key.config_id && key.run == run.key.run && key.attempt < run.key.attempt;
    });
    const bool is_last = std::find(undone.begin(), undone.end(), run.key) != undone.end();
    if (is_older && !is_last) names.push_back(to_string(run.key));
  }
  if (names.empty()) return;
  say(fmt::format("note: later attempts still count: {}. Set one aside if an earlier one shall count", join(names, ", ")));
}

int change(const AsideOptions& options) {
  const std::string root = std::filesystem::absolute(options.study.results).lexically_normal().string();
  ChosenRuns chosen = options.runs.empty() ? runs_selected(options) : runs_named(options, root);
  for (auto& [experiment, runs] : chosen) {
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    require_own_results(root + "/" + experiment);
    if (!options.undo) require_fixed_repeats(root, experiment);
    Store store = open_index(root);
    const std::string results = root + "/" + experiment;
    const std::vector<AttemptKey> keys = attempts_of(runs, refresh_index(store, root, experiment));
    const std::string what = counted(static_cast<long long>(runs.size()), "run", "runs");
    if (keys.empty()) {
      say(fmt::format("nothing to change: {} has no finished run of that kind", experiment));
    } else if (options.undo) {
      const long long undone = undo_set_aside(store, results, experiment, keys);
      say(undone == 0 ? fmt::format("nothing to undo: {} not set aside", runs.size() == 1 ? "the run is" : "these runs are")
                      : fmt::format("{} again: {}", runs.size() == 1 ? "1 run counts" : what + " count", list_of_runs(runs)));
      note_later_attempts(store.states(experiment), keys);
    } else {
      set_aside(store, results, experiment, keys, options.why, false);
      say(fmt::format("set {} aside: {}. Tables leave {} out; `hpcbench set-aside ... --undo` takes that back", what,
                      list_of_runs(runs), runs.size() == 1 ? "it" : "them"));
    }
  }
  return 0;
}

void check_options(const AsideOptions& options) {
  if (options.runs.empty() == options.study.only.empty())
    throw InputError("error: name the runs (`hpcbench status --all` lists them), or select them with --only AXIS=VALUE");
  if (!options.undo && trim(options.why).empty())
    throw InputError("error: --why is missing: say why the runs do not count, as in --why 'a backup ran'");
}

}  // namespace

void add_set_aside(commandline::Command& command) {
  const auto options = std::make_shared<AsideOptions>();
  options->study.looks_back = true;
  command.add_option("RUN", options->runs, "[EXPERIMENT/](CONFIG_ID prefix, axis=value,... or value,...)[/rNN[/aN]]");
  command
      .add_option("--only", options->study.only,
                  "instead: all finished runs of the configurations that match: `strategy=ddp,nodes=1|2`")
      .value_name("AXIS=VALUE,...")
      .not_empty();
  command
      .add_option("--experiment", options->study.file,
                  "of --only: the experiment file, or the name of a study; without it, what was run last here")
      .value_name("FILE");
  add_results_option(command, options->study.results);
  command.add_option("--why", options->why, "the reason, which tables, `show` and exports repeat").value_name("TEXT");
  command.add_flag("--undo", options->undo, "count these runs again");
  command.action([=] {
    check_options(*options);
    return change(*options);
  });
}

}  // namespace hpcbench
