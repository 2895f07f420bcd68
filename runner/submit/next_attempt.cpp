#include "submit/next_attempt.hpp"

#include "submit/continuation.hpp"
#include "submit/judge.hpp"
#include "submit/run_table.hpp"

namespace hpcbench {

namespace {

/// Calls `visit(key of the last attempt, history)` for each run of the plan with attempts on record.
template <typename Visit>
void for_each_history(const Experiment& experiment, const Plan& plan, const std::string& results, bool with_warmups,
                      const std::vector<AttemptState>& known, Visit visit) {
  RunTable runs(plan, with_warmups);
  for (const AttemptState& attempt : known) {
    const auto run = runs.find(attempt.key.config_id, attempt.key.run);
    if (run) runs.add(*run, attempt, counts_as_miss(experiment, results + "/" + to_string(attempt.key), attempt.state));
  }
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const RunHistory& history = runs[run].history;
    if (history.last() > 0) visit(runs.key(run, history.last()), history);
  }
}

}  // namespace

bool counts_as_miss(const Experiment& experiment, const std::string& folder, State outcome) {
  if (is_to_continue(experiment, folder, outcome)) return false;
  if (outcome != State::failed) return true;
  return experiment.retries.failed > 0 && ended_badly(folder);
}

NextAttempt next_attempt(const Experiment& experiment, const std::string& results, const AttemptKey& last,
                         const RunHistory& history) {
  const State state = history.last_state();
  if (history.is_closed() || !is_outcome(state) || state == State::succeeded) return NextAttempt::none;
  if (goes_on(experiment, results, last, state)) return NextAttempt::segment;
  const bool is_again =
      history.may_retry(experiment.retries) && counts_as_miss(experiment, results + "/" + to_string(last), state);
  return is_again ? NextAttempt::again : NextAttempt::none;
}

std::vector<AttemptKey> attempts_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known) {
  std::vector<AttemptKey> keys;
  for_each_history(experiment, plan, results, false, known, [&](const AttemptKey& last, const RunHistory& history) {
    const bool is_due = history.state() == State::planned;  // a void attempt came after the last one
    if (!is_due && next_attempt(experiment, results, last, history) != NextAttempt::none) keys.push_back(last);
  });
  return keys;
}

std::vector<AttemptKey> segments_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known) {
  std::vector<AttemptKey> keys;
  if (!experiment.continuation) return keys;
  for_each_history(experiment, plan, results, true, known, [&](const AttemptKey& last, const RunHistory& history) {
    if (next_attempt(experiment, results, last, history) == NextAttempt::segment) keys.push_back(last);
  });
  return keys;
}

}  // namespace hpcbench
