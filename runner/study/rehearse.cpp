#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "render/blocks.hpp"
#include "study/blocks/find_block_times.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "study/live_status.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/rounds.hpp"
#include "study/run_study.hpp"
#include "submit/next_attempt.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kShownStarts = 40;

/// Where each run stands, by `CONFIG_ID/r01`.
std::unordered_map<std::string, State> states_by_run(const Study& study, const Store& store) {
  std::unordered_map<std::string, State> by_run;
  for (const RunStatus& run : recorded_status(study, store).runs) {
    if (run.attempt) by_run[run.run] = run.state;  // also of a run that was set aside
  }
  return by_run;
}

/// The runs that ended so that `retries` gives them another attempt, by `CONFIG_ID/r01`.
std::unordered_set<std::string> tried_again(const Study& study, const Plan& plan, const std::vector<AttemptState>& attempts) {
  std::unordered_set<std::string> names;
  for (const AttemptKey& key : attempts_to_follow(study.experiment, plan, study.results, attempts))
    names.insert(key.config_id + "/" + to_string(key.run));
  return names;
}

/// Of a study in rounds what the next one starts, within what the studies before it leave of the call's budget; says what
/// decides, and where it ends.
std::optional<Plan> next_round_of(const Study& study, const RoundsView& view, const RunOptions& options, CallBudget& budget) {
  for (const std::string& line : rounds_lines(study, view)) say(line);
  std::optional<double> of_call;
  if (options.at_most_hours) of_call = *options.at_most_hours - budget.of_others(study.experiment.name);
  const std::optional<double> left = hours_left(study, view, of_call);
  NextRound next = next_round(study, view, left);
  if (next.too_dear) {
    say(fmt::format("no block would be begun: {}{}", too_dear_text(study, *next.too_dear, *left),
                    budget.others_busy(study.experiment.name) ? " beside the blocks of the files before it" : ""));
  }
  if (!next.round) return std::nullopt;
  budget.commit(study.experiment.name, 0, next.round->expected_hours);
  return std::move(next.round->plan);
}

int rehearse_round(const Study& study, const Plan& plan, const PlanDiff& diff, const IndexView& index,
                   const RunOptions& options) {
  const auto& [store, attempts] = index;
  const std::unordered_map<std::string, State> states = states_by_run(study, store);
  const std::unordered_set<std::string> again = tried_again(study, plan, attempts);
  std::vector<std::size_t> open;
  long long to_start = 0;
  long long going_on = 0;
  std::string lines;
  for (const PlannedRun& run : runs_in_order(plan)) {
    if (!run.name.is_repeat()) continue;
    const Configuration& configuration = plan.configurations[run.configuration];
    const std::string name = configuration.id + "/" + to_string(run.name);
    const auto known = states.find(name);
    const bool is_repeated = options.again && known != states.end() && is_outcome(known->second);
    const bool is_again = is_repeated || again.contains(name);
    if (known != states.end() && is_outcome(known->second) && !is_again) continue;
    const bool goes_on = known != states.end() && known->second != State::intended && !is_again;
    ++(goes_on ? going_on : to_start);
    open.push_back(run.configuration);
    if (!goes_on && to_start <= static_cast<long long>(kShownStarts)) {
      lines += fmt::format("{}  {}{}\n", name, printable(plan.describe_point(configuration)), is_again ? "  (again)" : "");
    }
  }
  if (to_start > static_cast<long long>(kShownStarts)) lines += fmt::format("... {} more\n", to_start - kShownStarts);
  std::sort(open.begin(), open.end());
  open.erase(std::unique(open.begin(), open.end()), open.end());
  print_data(list_preparations(study, plan, open) + lines);
  ProcessToolRunner tools;
  const BlockTimes times = find_block_times(study.experiment, plan, store, tools);
  check_longest_jobs(study.experiment, plan, times);
  for (const std::string& line : describe_blocks(study.experiment, plan, times)) say(line);
  const long long asked = static_cast<long long>(plan.configurations.size()) * plan.repeats;
  say(fmt::format("{}: {} would be started by the executor {}{}; {} of {} have an outcome. Nothing was started.",
                  study.experiment.name, counted(to_start, "run", "runs"), study.experiment.executor,
                  going_on > 0 ? fmt::format(", {} taken up", counted(going_on, "that goes on is", "that go on are")) : "",
                  asked - to_start - going_on, asked));
  require_ready(study, diff, {}, options);
  return 0;
}

int rehearse_study(const Study& study, const RunOptions& options, CallBudget& budget) {
  const IndexView index = open_for_reading(study);
  PlanDiff diff = compare_with_index(study, index.states);
  if (!runs_in_rounds(study, options)) return rehearse_round(study, study.selected(), diff, index, options);
  const RoundsView view = look_at_rounds(study, index.store);
  count_next_round(study, view, diff);
  const std::optional<Plan> round = next_round_of(study, view, options, budget);
  if (round) return rehearse_round(study, *round, diff, index, options);
  say(fmt::format("{}: nothing would be started", study.experiment.name));
  return 0;
}

}  // namespace

int rehearse(const std::vector<Study>& studies, const RunOptions& options) {
  require_studies(studies, options);
  CallBudget budget;
  int worst = 0;
  for (const Study& study : studies) {
    if (studies.size() > 1) print_data(fmt::format("# {}\n", study.experiment.name));
    worst = std::max(worst, rehearse_study(study, options, budget));
  }
  return worst;
}

}  // namespace hpcbench
