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

namespace hpcbench {

namespace {

constexpr const char* kStoppedWhy = "cancelled before it was continued";

/// Makes the folder of a new attempt of the run, above the given one and all folders that follow it. Returns its number.
int make_next_folder(const std::string& results, AttemptKey key) {
  for (++key.attempt;; ++key.attempt) {
    if (::mkdir((results + "/" + to_string(key)).c_str(), kStudyFolder) == 0) return key.attempt;
    if (errno != EEXIST) make_folders(results + "/" + to_string(key));  // says why
  }
}

}  // namespace

void cancel_waiting(const Experiment& experiment, const Plan& plan, const RenderContext& context,
                    const std::vector<AttemptKey>& last, Events& events) {
  std::vector<AttemptKey> made;
  for (const AttemptKey& before : last) {
    AttemptKey key = before;
    key.attempt = make_next_folder(context.results, key);
    const std::size_t configuration = *plan.find(key.config_id);
    // A retry of it is the same segment: run.json says from where.
    const Segment segment = segment_after(context.results, before, experiment.is_trainer());
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
