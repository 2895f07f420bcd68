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

namespace {

/// What a campaign of another process gets done, as the index shows it.
class EndsOfOthers {
 public:
  explicit EndsOfOthers(const Study& study) : study_(study) {}

  void look(const Store& store, const std::vector<AttemptState>& runs, RemainingTime& remaining) {
    std::vector<AttemptKey> ended;
    for (const AttemptState& run : runs) {
      if (is_outcome(run.state) && is_asked(study_, run.key)) ended.push_back(run.key);
    }
    if (!begun_) {
      expect_runs(remaining, study_, store, runs, {});
    } else {
      std::vector<AttemptKey> fresh;
      std::set_difference(ended.begin(), ended.end(), ended_.begin(), ended_.end(), std::back_inserter(fresh));
      for (const AttemptKey& key : fresh) remaining.note_end(key.config_id, std::nullopt);
    }
    begun_ = true;
    ended_ = std::move(ended);
  }

 private:
  const Study& study_;
  bool begun_ = false;
  std::vector<AttemptKey> ended_;  // sorted
};

}  // namespace

bool is_asked(const Study& study, const AttemptKey& key) {
  return key.run.is_repeat() && key.run.number <= study.selected().repeats && study.selected().find(key.config_id).has_value();
}

OutcomeCounts count_outcomes(const std::vector<AttemptState>& runs, const Study& study) {
  OutcomeCounts counts;
  counts.asked = static_cast<long long>(study.selected().configurations.size()) * study.selected().repeats;
  for (const AttemptState& run : runs) {
    if (!is_asked(study, run.key)) continue;
    if (run.standing == Standing::set_aside) {
      --counts.asked;
      ++counts.set_aside;
      continue;
    }
    if (is_outcome(run.state)) ++counts.ended;
    if (run.state == State::succeeded) ++counts.succeeded;
  }
  return counts;
}

std::vector<AttemptKey> attempts_to_retry(const std::vector<AttemptState>& states, const Study& study,
                                          const std::vector<State>& outcomes) {
  std::vector<AttemptKey> keys;
  if (outcomes.empty()) return keys;
  for (const AttemptState& run : counting_states(states)) {
    const bool wanted =
        run.standing == Standing::normal && std::find(outcomes.begin(), outcomes.end(), run.state) != outcomes.end();
    if (wanted && is_asked(study, run.key)) keys.push_back(run.key);
  }
  return keys;
}

std::string why_none_to_retry(const std::vector<AttemptState>& states, const Study& study, const std::vector<State>& outcomes) {
  if (outcomes.empty()) return "";
  const auto is_wanted = [&](State state) { return std::find(outcomes.begin(), outcomes.end(), state) != outcomes.end(); };
  std::map<State, long long> counts;
  long long left_out = 0;  // by --only
  for (const AttemptState& run : counting_states(states)) {
    if (run.standing != Standing::normal) continue;
    const bool asked = is_asked(study, run.key);
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
                      counts_text(counts), study.named(), names(others, ","));
  } else if (!counts.empty()) {
    const long long succeeded = counts[State::succeeded];
    why = succeeded == 1 ? "the one run that has ended succeeded"
                         : fmt::format("all {} runs that have ended succeeded", succeeded);
  }
  if (left_out > 0) why += fmt::format("; --only leaves out {}", counted(left_out, "run that would be", "runs that would be"));
  return "nothing to run again: " + why;
}

void expect_runs(RemainingTime& remaining, const Study& study, const Store& store, const std::vector<AttemptState>& states,
                 const std::vector<AttemptKey>& retried) {
  std::unordered_map<std::string, long long> ended;
  for (const AttemptState& run : counting_states(states))
    ended[run.key.config_id] += is_outcome(run.state) && is_asked(study, run.key);
  for (const AttemptKey& key : retried) --ended[key.config_id];
  for (const Configuration& configuration : study.selected().configurations) {
    const auto found = ended.find(configuration.id);
    remaining.expect(configuration.id, study.selected().repeats - (found == ended.end() ? 0 : found->second));
  }
  for (const auto& [id, mean_s] : store.mean_wall_times(study.experiment.name)) {
    if (study.plan.find(id)) remaining.know(id, mean_s);
  }
  remaining.begin();
}

Steps<std::optional<ExperimentLock>> own_or_follow(const Study& study) {
  std::string owner;
  std::optional<ExperimentLock> lock = ExperimentLock::try_acquire(study.results, &owner);
  if (lock) co_return std::move(lock);
  say(fmt::format("{} is run by {}; following it. Ctrl-C leaves it alone.", study.experiment.name, owner));
  Progress progress(system_clock());
  EndsOfOthers ends(study);
  while (!lock && interrupted() == 0) {
    co_await Pause::look;
    lock = ExperimentLock::try_acquire(study.results, &owner);
    if (const std::optional<Store> store = Store::open_readonly(study.database())) {
      const std::vector<AttemptState> runs = counting_states(store->states(study.experiment.name));
      ends.look(*store, runs, progress.remaining());
      const OutcomeCounts counts = count_outcomes(runs, study);
      if (!study.one_of_many) progress.show({counts.asked, counts.ended, counts.succeeded, 0});
    }
  }
  progress.finish();
  if (!lock) say("no longer following; it goes on");
  co_return std::move(lock);
}

}  // namespace hpcbench
