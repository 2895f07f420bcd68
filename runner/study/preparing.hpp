#pragma once

#include <optional>
#include <string>
#include <vector>

#include "render/attempt.hpp"
#include "store/store.hpp"
#include "study/steps.hpp"
#include "study/study.hpp"
#include "submit/preparations.hpp"

namespace hpcbench {

/// Where the preparations of a study stand, and what that means for its runs.
class PreparationView {
 public:
  /// Reads the folders of all instances.
  explicit PreparationView(const Study& study);

  /// Why runs of a configuration cannot begin: `build failed (exit code 2); its output is in FOLDER`. Empty where no
  /// preparation that failed keeps them from it.
  std::string obstacle(const Configuration& configuration) const;
  /// What runs of a configuration wait for: `build is being made in FOLDER`; empty for nothing.
  std::string awaited(const Configuration& configuration) const;
  const PreparationStatus& status(std::size_t instance) const { return statuses_[instance]; }

 private:
  /// An instance that failed, of these and of what they need.
  std::optional<std::size_t> failed_among(const std::vector<std::size_t>& instances) const;
  std::optional<std::size_t> unfinished_among(const std::vector<std::size_t>& instances) const;

  const Study& study_;
  std::vector<PreparationStatus> statuses_;  // by instance
};

/// What `run` and `retry` do about preparations before they start runs.
struct PreparationOptions {
  std::string again;    // name of a preparation that gets new attempts; empty: none
  bool detach = false;  // returns once what has a job of its own is submitted
};

struct Call;

/// Makes what the runs of some configurations (indices into study.selected()) need, and tells the context: on this machine one
/// after the other, of all studies of the call, by jobs of their own as many at once as Slurm lets. False if it was
/// interrupted. UnavailableError if files changed that something was made of.
Steps<bool> make_preparations(const Study& study, const std::vector<std::size_t>& configurations, PreparationOptions options,
                              RenderContext& context, Call& call);

/// Of the plan what can run then: all but those of these configurations for which something is not made, as the context knows.
/// What was made since, by a job that nobody waits for, is the next call's.
struct RunnablePart {
  Plan plan;
  bool awaits = false;  // some are left out of which no preparation failed
};
RunnablePart find_runnable(const Study& study, const std::vector<std::size_t>& configurations, const RenderContext& context);
/// Whether a preparation that failed keeps a configuration from running.
bool any_failed_preparation(const Study& study);

/// Asks all attempts of preparations that run or wait to end. Says what became of those, if there are any; false if some were
/// not seen to end.
bool end_preparations(const Study& study);
/// Attempts of preparations that have not ended.
std::vector<std::size_t> unfinished_preparations(const Study& study);

/// What of that is made already, for those who only render.
void find_made_preparations(const Study& study, RenderContext& context);

/// A line for each instance that `run` would make now.
std::string list_preparations(const Study& study, const std::vector<std::size_t>& configurations);

/// `4 runs not begun: build failed ...` for each preparation that keeps runs from it; `runs` are counting_states.
std::vector<std::string> not_begun_lines(const Study& study, const std::vector<AttemptState>& runs);

/// InputError if the study has no preparation of this name.
void require_preparation(const Study& study, const std::string& name);

}  // namespace hpcbench
