#include "study/follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "study/index.hpp"
#include "study/progress.hpp"

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
    if (is_outcome(run.state)) ++counts.ended;
    if (run.state == State::succeeded) ++counts.succeeded;
  }
  return counts;
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
