#include "study/follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "study/index.hpp"
#include "study/progress.hpp"
#include "study/status_view.hpp"

namespace hpcbench {

bool is_asked(const Plan& plan, const AttemptKey& key) {
  return key.run.is_repeat() && key.run.number <= plan.repeats && plan.find(key.config_id).has_value();
}

OutcomeCounts count_outcomes(const std::vector<AttemptState>& runs, const Plan& plan) {
  OutcomeCounts counts;
  counts.asked = static_cast<long long>(plan.configurations.size()) * plan.repeats;
  for (const AttemptState& run : runs) {
    if (!is_asked(plan, run.key)) continue;
    if (run.standing == Standing::set_aside) {
      --counts.asked;
      ++counts.set_aside;
      continue;
    }
    counts.note(run.state);
  }
  return counts;
}

std::vector<AttemptKey> attempts_to_retry(const std::vector<AttemptState>& states, const Plan& plan,
                                          const std::vector<State>& outcomes) {
  std::vector<AttemptKey> keys;
  if (outcomes.empty()) return keys;
  for (const AttemptState& run : counting_states(states)) {
    const bool wanted =
        run.standing == Standing::normal && std::find(outcomes.begin(), outcomes.end(), run.state) != outcomes.end();
    if (wanted && is_asked(plan, run.key)) keys.push_back(run.key);
  }
  return keys;
}

std::string why_none_to_retry(const std::vector<AttemptState>& states, const Study& study, const std::vector<State>& outcomes) {
  if (outcomes.empty()) return "";
  const auto is_wanted = [&](State state) { return std::find(outcomes.begin(), outcomes.end(), state) != outcomes.end(); };
  StateCounts counts;
  long long left_out = 0;  // by --only
  for (const AttemptState& run : counting_states(states)) {
    if (run.standing != Standing::normal) continue;
    const bool asked = is_asked(study.selected(), run.key);
    if (asked && is_wanted(run.state)) return "";
    if (asked && is_outcome(run.state)) ++counts[run.state];
    left_out += !asked && is_wanted(run.state) && run.key.run.is_repeat() && study.plan.find(run.key.config_id);
  }
  const auto names = [](const auto& from, const std::string& separator) {
    std::vector<std::string> texts;
    for (const State state : from) texts.emplace_back(to_string(state));
    return join(texts, separator);
  };
  std::vector<State> others;
  for (const auto& [state, count] : counts) {
    if (state != State::succeeded) others.push_back(state);
  }
  std::string why = "no run has ended yet";
  if (!others.empty()) {
    why = fmt::format("no run is {}, there are {}; `hpcbench retry {} --outcome {}` runs those again", names(outcomes, " or "),
                      counts.text(), study.named(), names(others, ","));
  } else if (!counts.empty()) {
    const long long succeeded = counts.of(State::succeeded);
    why = succeeded == 1 ? "the one run that has ended succeeded"
                         : fmt::format("all {} runs that have ended succeeded", succeeded);
  }
  if (left_out > 0) why += fmt::format("; --only leaves out {}", counted(left_out, "run that would be", "runs that would be"));
  return "nothing to run again: " + why;
}

void expect_runs(RemainingTime& remaining, const Study& study, const Plan& plan, const Store& store,
                 const std::vector<AttemptState>& states, const std::vector<AttemptKey>& retried) {
  std::unordered_map<std::string, long long> ended;
  for (const AttemptState& run : counting_states(states))
    ended[run.key.config_id] += is_outcome(run.state) && is_asked(plan, run.key);
  for (const AttemptKey& key : retried) --ended[key.config_id];
  for (const Configuration& configuration : plan.configurations) {
    const auto found = ended.find(configuration.id);
    remaining.expect(configuration.id, plan.repeats - (found == ended.end() ? 0 : found->second));
  }
  for (const auto& [id, mean_s] : store.mean_wall_times(study.experiment.name)) {
    if (study.plan.find(id)) remaining.know(id, mean_s);
  }
  remaining.begin();
}

std::optional<ExperimentLock> Following::try_lock() {
  if (progress_) show();
  std::string owner;
  std::optional<ExperimentLock> lock = ExperimentLock::try_acquire(study_.results, &owner);
  if (lock) {
    if (progress_) progress_->finish();
  } else if (!progress_) {
    say(fmt::format("{} is run by {}; following it. Ctrl-C leaves it alone.", study_.experiment.name, owner));
    progress_.emplace(system_clock());
  }
  return lock;
}

void Following::show() {
  const std::optional<Store> store = Store::open_readonly(study_.database());
  if (!store) return;
  const std::vector<AttemptState> runs = counting_states(store->states(study_.experiment.name));
  note_ends(*store, runs);
  if (!study_.one_of_many) progress_->show(study_.experiment.name, count_outcomes(runs, study_.selected()));
}

/// The runs that the other process has ended since the last look, as the index shows them.
void Following::note_ends(const Store& store, const std::vector<AttemptState>& runs) {
  std::vector<AttemptKey> ended;
  for (const AttemptState& run : runs) {
    if (is_outcome(run.state) && is_asked(study_.selected(), run.key)) ended.push_back(run.key);
  }
  if (!knows_ends_) {
    expect_runs(progress_->remaining(), study_, study_.selected(), store, runs, {});
  } else {
    std::vector<AttemptKey> fresh;
    std::set_difference(ended.begin(), ended.end(), ended_.begin(), ended_.end(), std::back_inserter(fresh));
    for (const AttemptKey& key : fresh) progress_->remaining().note_end(key.config_id, std::nullopt);
  }
  knows_ends_ = true;
  ended_ = std::move(ended);
}

}  // namespace hpcbench
