#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "plan/plan.hpp"
#include "render/attempt.hpp"
#include "spec/experiment.hpp"
#include "submit/executor.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

/// The state of an instance of a preparation, as the folders of its attempts tell (RunHistory).
struct PreparationStatus {
  /// `planned`: the next attempt is due; `submitted`: the last one has no end; else succeeded or failed.
  State state = State::planned;
  int highest = 0;                      // number of the highest folder, 0: none
  int attempt = 0;                      // the one that counts
  std::string folder = {};              // its, absolute
  std::string why = {};                 // it failed
  std::vector<CodeFile> inputs = {};    // what it was made of
  std::vector<std::string> needs = {};  // folders of other preparations that it was given

  bool succeeded() const { return state == State::succeeded; }
  bool failed() const { return state == State::failed; }
};

/// `lost_limit`: so many attempts may be lost before an instance has failed.
PreparationStatus preparation_status(const std::string& results, const PreparedInstance& instance, int lost_limit);

/// Of one attempt's folder: whether its command runs no more, and whether it was made.
bool preparation_has_ended(const std::string& folder);
bool preparation_succeeded(const std::string& folder);

/// The files that the patterns of `inputs` match, with their hashes; paths as the patterns have them, relative to `folder`.
/// UnavailableError for a pattern that matches none, or a file that cannot be read.
std::vector<CodeFile> input_files(const Preparation& definition, const std::string& folder);
/// The paths of files that differ, were added or are gone.
std::vector<std::string> changed_inputs(const std::vector<CodeFile>& then, const std::vector<CodeFile>& now);

/// Makes instances by the protocol of runs (docs/exactly-once.md): an attempt is a folder with run.json that `hpcbench launch`
/// claims, once; those with jobs of their own are in a batch each.
class Preparer {
 public:
  /// Keeps references. `note` gets a message for each begin.
  Preparer(const Experiment& experiment, const Plan& plan, RenderContext& context, Executor& executor,
           std::function<void(const std::string&)> note)
      : experiment_(experiment), plan_(plan), context_(context), executor_(executor), note_(std::move(note)) {}

  /// Takes up what runs, begins what is open; once it has ended, where it stands. Absent: it runs, or waits in a queue, or
  /// until the executor takes one more. `again` (once) begins a new attempt of what has ended. What succeeded is in the context
  /// then. What it needs must have been made. Never waits itself: the executor may serve many.
  std::optional<PreparationStatus> advance(std::size_t instance, bool& again);
  /// Whether an attempt of it is the executor's: what has not ended goes on without us.
  bool is_submitted(std::size_t instance) const;
  /// Gives up those that the executor has not taken yet.
  void revoke_unsubmitted();
  /// Asks those that run to end, and looks at them for some seconds. False: there are none.
  bool end();

 private:
  /// An attempt that runs, or may.
  struct Active {
    std::string folder;
    std::string token;  // handed over by this call; empty: by an earlier one
    std::string job;
    bool submitted = true;  // else the executor takes none for the time being
    std::string hash = {};  // attempt_hash; of this call's
  };

  void begin(std::size_t instance, int attempt);
  /// Returns its attempt_hash.
  std::string write_attempt(std::size_t instance, int attempt, const std::string& batch);
  bool submit(std::size_t instance);
  void take_up(std::size_t instance, const std::string& folder);
  Seizure if_unclaimed(const Active& attempt, const JobStatus& end) const;
  void settle(const Active& attempt, const JobStatus& end);
  std::vector<std::string> needed_folders(const PreparedInstance& instance) const;

  const Experiment& experiment_;
  const Plan& plan_;
  RenderContext& context_;
  Executor& executor_;
  std::function<void(const std::string&)> note_;
  std::map<std::size_t, Active> active_;  // by instance
};

/// Asks for the end of attempts of preparations that have not ended (their folders), and looks whether they do, for as long as
/// the executor wants it. What has not begun never will.
struct PreparationCancels {
  long long ended = 0;
  long long revoked = 0;
  std::vector<std::string> left;  // folders of those that were not seen to end
};
PreparationCancels cancel_preparations(const std::vector<std::string>& folders, const std::string& results, Executor& executor,
                                       Clock& clock);

}  // namespace hpcbench
