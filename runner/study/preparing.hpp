#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/state.hpp"
#include "render/attempt.hpp"
#include "study/call.hpp"
#include "study/pace.hpp"
#include "study/study.hpp"
#include "submit/preparations.hpp"

namespace hpcbench {

/// Where the preparations of a study stand, and what that means for its runs.
class PreparationView {
 public:
  /// Reads the folders of all instances of the plan.
  PreparationView(const Study& study, const Plan& plan);

  /// Why runs of a configuration cannot begin: `build failed (exit code 2); its output is in FOLDER`. Empty where no
  /// preparation that failed keeps them from it.
  std::string obstacle(const Configuration& configuration) const;
  /// What runs of a configuration wait for: `build is being made in FOLDER`; empty for nothing.
  std::string awaited(const Configuration& configuration) const;
  const PreparationStatus& status(std::size_t instance) const { return statuses_[instance]; }
  /// The files of an instance that was made that are no longer those that it was made of. Reads them.
  std::vector<std::string> outdated_inputs(std::size_t instance, const std::string& call_folder) const;

 private:
  /// An instance in this state, of these and of what they need.
  std::optional<std::size_t> find_any(const std::vector<std::size_t>& instances, State state) const;

  const Study& study_;
  const Plan& plan_;
  std::vector<PreparationStatus> statuses_;  // by instance
};

/// Makes the preparations that the runs of some configurations need, and notes them in the context: on this machine one after
/// the other, of all studies of the call; by jobs of their own as many at once as Slurm lets. Each is a run that a dispatcher
/// carries through, as measured runs are; it begins once what it needs has been made.
class Preparing {
 public:
  /// `configurations`: indices into `plan`. `again`: name of a preparation that gets new attempts; empty: none. `detach`: it is
  /// done once all that has a job of its own is submitted. UnavailableError if files changed that something was made of.
  Preparing(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations, const std::string& again,
            bool detach, RenderContext& context, Call& call);
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;
  ~Preparing();

  /// Settles what has ended, and begins what can begin. `again`: all is made; `ended`: it was interrupted before that.
  Pace step();
  /// Ends what is being made on this machine: the next call makes it. Jobs continue.
  void end_here();

 private:
  class Making;

  std::vector<std::size_t> choose(const std::vector<std::size_t>& configurations, const std::string& again);
  bool needs_any(std::size_t i, State state) const;
  bool needs_others(std::size_t i, const PreparationStatus& status) const;
  bool has_ended(std::size_t i);
  bool note_end(std::size_t i, const PreparationStatus& status);
  bool is_submitted(std::size_t i) const;
  void say_detached() const;

  const Study& study_;
  const Plan& plan_;
  bool detach_;
  RenderContext& context_;
  Call& call_;
  std::vector<bool> again_;                       // by instance: it gets another attempt
  std::vector<State> states_;                     // by instance: planned until it has succeeded or failed
  std::vector<std::unique_ptr<Making>> makings_;  // by instance: while it is being made
  std::vector<std::size_t> needed_;               // instances, in the order in which they are made
  std::optional<Listed> making_here_;
};

/// The part of the plan that can run then: all but those of these configurations for which something is not made, as the
/// context knows. A preparation that a job makes later is for the next call.
struct RunnablePart {
  std::optional<Plan> part = {};  // absent: all of the plan
  bool awaits = false;            // some are left out of which no preparation failed
};
RunnablePart find_runnable(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations,
                           const RenderContext& context);
/// Whether an instance has failed that the plan needs; `name`: of the preparation of this name.
bool any_failed_preparation(const Study& study, const Plan& plan, const std::string& name = "");

/// What to add to `run carries them out` where a preparation that failed keeps some of the selected runs from it, else nothing.
std::string except_unprepared(const Study& study);

/// Asks the attempts of unfinished_preparations to end. Says what became of those, if there are any; false if some were
/// not seen to end.
bool end_preparations(const Study& study);
/// Instances whose attempt has not ended that selected configurations need, and no others.
std::vector<std::size_t> unfinished_preparations(const Study& study);

/// What of that is made already, for those who only render.
void find_made_preparations(const Study& study, RenderContext& context);

/// A line for each instance that `run` would make now for these configurations of the plan.
std::string list_preparations(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations);

/// `4 runs not begun: build failed ...` for each preparation that keeps runs from it; `runs` are counting_states.
std::vector<std::string> not_begun_lines(const Study& study, const std::vector<AttemptState>& runs);

/// InputError if the study has no preparation of this name.
void require_preparation(const Study& study, const std::string& name);

}  // namespace hpcbench
