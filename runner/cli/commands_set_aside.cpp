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
#include "runfiles/set_aside.hpp"
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

/// Attempts of the run that have ended. InputError if it has others.
std::vector<AttemptKey> ended_of(const ChosenRun& run, const std::vector<AttemptState>& states) {
  const auto is_open = [&](const AttemptState& state) {
    return state.key.config_id == run.config_id && state.key.run == run.run && !is_outcome(state.state);
  };
  if (std::any_of(states.begin(), states.end(), is_open)) {
    throw InputError(
        fmt::format("error: {} has not ended: set it aside once it has, or end it with `hpcbench cancel`", name_of_run(run)));
  }
  return ended_attempts(states, run.config_id, run.run, run.last);
}

/// `a, b and 4 more`.
std::string short_list(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  if (names.size() <= kNamed) return join(names, ", ");
  return fmt::format("{} and {} more", join({names.begin(), names.begin() + kNamed}, ", "), names.size() - kNamed);
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

/// Results of one study, with its runs that the command names.
struct StudyRuns {
  const std::string& root;
  const std::string& experiment;
  const std::vector<ChosenRun>& runs;
  std::string results = root + "/" + experiment;
};

void set_runs_aside(const StudyRuns& study, Store& store, const std::string& why) {
  const std::vector<AttemptState> states = refresh_index(store, study.root, study.experiment);
  std::vector<AttemptKey> keys;
  std::vector<std::string> names;
  for (const ChosenRun& run : study.runs) {
    const std::vector<AttemptKey> changed = attempts_to_set_aside(study.results, ended_of(run, states));
    if (changed.empty()) continue;
    keys.insert(keys.end(), changed.begin(), changed.end());
    names.push_back(name_of_run(run));
  }
  if (keys.empty()) {
    say(fmt::format("nothing to change: {} has no finished run of that kind", study.experiment));
    return;
  }
  set_aside(store, study.results, study.experiment, keys, why, false);
  say(fmt::format("set {} aside: {}. Tables leave {} out; `hpcbench set-aside ... --undo` takes that back",
                  counted(static_cast<long long>(names.size()), "run", "runs"), short_list(names),
                  names.size() == 1 ? "it" : "them"));
}

/// `ID/r03/a1 (a backup ran)`.
std::string with_reason(const std::string& results, const AttemptKey& key) {
  const std::optional<SetAside> aside = read_set_aside(results + "/" + to_string(key));
  return fmt::format("{} ({})", to_string(key), aside ? aside->why : "");
}

void undo_last(const StudyRuns& study, Store& store) {
  const std::vector<AttemptState> states = refresh_index(store, study.root, study.experiment);
  std::vector<AttemptKey> undone;
  std::vector<std::string> counting;
  std::vector<std::string> left;
  std::string left_attempt;
  for (const ChosenRun& run : study.runs) {
    const std::vector<AttemptKey> ended = ended_of(run, states);
    const std::vector<AttemptKey> last = last_set_aside(study.results, ended, run.last > 0);
    if (!last.empty()) counting.push_back(with_reason(study.results, last.back()));
    undone.insert(undone.end(), last.begin(), last.end());
    for (const AttemptKey& key : ended) {
      if (std::find(last.begin(), last.end(), key) != last.end() || !read_set_aside(study.results + "/" + to_string(key)))
        continue;
      left.push_back(with_reason(study.results, key));
      left_attempt = to_string(key);
    }
  }
  const bool is_one = counting.size() == 1;
  if (!undone.empty()) {
    undo_set_aside(store, study.results, study.experiment, undone);
    say(fmt::format("{} again: {}", is_one ? "1 run counts" : fmt::format("{} runs count", counting.size()),
                    short_list(counting)));
    note_later_attempts(store.states(study.experiment), undone);
  } else if (left.empty()) {
    say(fmt::format("nothing to undo: {} not set aside", study.runs.size() == 1 ? "the run is" : "these runs are"));
  }
  if (left.empty()) return;
  say(fmt::format("{}: earlier measurements stay set aside: {}. To count one again, name it: `hpcbench set-aside {}/{} --undo`",
                  undone.empty() ? "nothing to undo" : "note", short_list(left), study.experiment, left_attempt));
}

int change(const AsideOptions& options) {
  const std::string root = std::filesystem::absolute(options.study.results).lexically_normal().string();
  ChosenRuns chosen = options.runs.empty() ? runs_selected(options) : runs_named(options, root);
  for (auto& [experiment, runs] : chosen) {
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    const StudyRuns study{root, experiment, runs};
    require_own_results(study.results);
    if (!options.undo) require_fixed_repeats(root, experiment);
    Store store = open_index(root);
    if (options.undo) {
      undo_last(study, store);
    } else {
      set_runs_aside(study, store, options.why);
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
  command.add_flag("--undo", options->undo,
                   "take back the last time that these runs were set aside; by `run --again` only where RUN/aN is named");
  command.action([=] {
    check_options(*options);
    return change(*options);
  });
}

}  // namespace hpcbench
