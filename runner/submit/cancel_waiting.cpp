#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "runfiles/claim.hpp"
#include "submit/attempt_batch.hpp"
#include "submit/continuation.hpp"
#include "submit/judge.hpp"
#include "submit/run_table.hpp"

namespace hpcbench {

namespace {

constexpr const char* kStoppedWhy = "cancelled before it was continued";

/// The number of a new attempt's folder, which this makes: above `highest`, and above folders of which nobody has a record.
int make_next_folder(const std::string& results, AttemptKey key, int highest) {
  for (key.attempt = highest + 1;; ++key.attempt) {
    if (::mkdir((results + "/" + to_string(key)).c_str(), kStudyFolder) == 0) return key.attempt;
    if (errno != EEXIST) make_folders(results + "/" + to_string(key));  // says why
  }
}

}  // namespace

std::vector<WaitingRun> waiting_runs(const Experiment& experiment, const Plan& plan, const std::string& results,
                                     const std::vector<AttemptState>& known) {
  if (!experiment.continuation) return {};
  RunTable runs(plan, true);
  std::vector<int> highest(runs.size(), 0);
  for (const AttemptState& attempt : known) {
    const auto run = runs.find(attempt.key.config_id, attempt.key.run);
    if (!run) continue;
    highest[*run] = std::max(highest[*run], attempt.key.attempt);
    if (attempt.key.attempt <= runs[*run].attempt || attempt.is_void) continue;
    runs.note_known(*run, attempt, false);
  }
  std::vector<WaitingRun> waiting;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const AttemptKey last = runs.key(run, runs[run].attempt);
    if (!runs[run].is_closed() && goes_on(experiment, results, last, runs[run].state)) waiting.push_back({last, highest[run]});
  }
  return waiting;
}

void cancel_waiting(const Experiment& experiment, const Plan& plan, const RenderContext& context,
                    const std::vector<WaitingRun>& waiting, Events& events) {
  const RunTable runs(plan, true);
  std::vector<AttemptKey> made;
  for (const WaitingRun& each : waiting) {
    AttemptKey key = each.last;
    key.attempt = make_next_folder(context.results, key, each.highest);
    const std::size_t configuration = runs[*runs.find(key.config_id, key.run)].planned.configuration;
    // A retry of it is the same segment: run.json says from where.
    const SegmentPlace segment = segment_after(context.results, each.last, experiment.is_trainer());
    write_attempt_files(render_attempt(experiment, plan, configuration, key.run, key.attempt, "", context, segment));
    made.push_back(key);
  }
  if (made.empty()) return;
  sync_file_system(context.results);
  events.intended("", made);
  for (const AttemptKey& key : made) {
    if (!seize_attempt(context.results + "/" + to_string(key), revoke_attempt(kStoppedWhy))) continue;
    events.ended(key, State::cancelled, kStoppedWhy);
  }
}

}  // namespace hpcbench
