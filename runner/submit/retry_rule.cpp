#include "submit/retry_rule.hpp"

#include "submit/continuation.hpp"
#include "submit/judge.hpp"
#include "submit/run_table.hpp"

namespace hpcbench {

bool counts_as_miss(const Experiment& experiment, const std::string& folder, State outcome) {
  if (is_to_continue(experiment, folder, outcome)) return false;
  if (outcome != State::failed) return true;
  return experiment.retries.failed > 0 && ended_badly(folder);
}

std::vector<AttemptKey> attempts_to_follow(const Experiment& experiment, const Plan& plan, const std::string& results,
                                           const std::vector<AttemptState>& known) {
  RunTable runs(plan, false);
  const auto counts = [&](const AttemptKey& key, State state) {
    return counts_as_miss(experiment, results + "/" + to_string(key), state);
  };
  for (const AttemptState& attempt : known) {
    const auto run = runs.find(attempt.key.config_id, attempt.key.run);
    if (!run) continue;
    runs.note_known(*run, attempt, counts(attempt.key, attempt.state));
  }
  std::vector<AttemptKey> last;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].is_closed()) continue;
    const AttemptKey key = runs.key(run, runs[run].attempt);
    const bool retried = runs.may_retry(run, runs[run].state, experiment.retries) && counts(key, runs[run].state);
    if (retried || goes_on(experiment, results, key, runs[run].state)) last.push_back(key);
  }
  return last;
}

}  // namespace hpcbench
