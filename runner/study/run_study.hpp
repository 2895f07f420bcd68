#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/state.hpp"
#include "render/attempt.hpp"
#include "study/study.hpp"

namespace hpcbench {

struct RunOptions {
  bool yes = false;
  int slots = 1;
  bool detach = false;                  // ends once all is submitted; only with Slurm, where jobs need no process here
  bool keep_going = false;              // neither missing files nor failures stop it
  bool simulate_nodes = false;          // several nodes may be processes of this machine
  std::optional<int> max_failures;      // stops after so many
  std::optional<double> at_most_hours;  // of this call, in Plan::cost_unit: no block is begun that would exceed them
  /// Outcomes whose runs get a new attempt first (`retry`); empty: none.
  std::vector<State> retry;
  /// The finished runs are set aside first and measured again.
  bool again = false;
  std::string prepare_again;  // a preparation that failed, or whose inputs changed, gets a new attempt first; empty: none
};

/// `run` and `retry`: takes the lock of each study (or follows its owner until it is gone), carries all of them through their
/// executors in turn, keeps the index, and ends each with a summary. Nothing begins before all are checked; the failure of one
/// does not stop the others. Returns the worst exit code. InputError for two studies with one results folder.
int run_studies(std::vector<Study> studies, const RunOptions& options);

/// InputError for a study of imports alone.
void require_program(const Study& study);

/// What `run --dry-run` prints: the runs that `run` would start now, in order, of each study; the first blocks of several share
/// the budget of the call in the order of the studies. Starts, locks and writes nothing but the index.
/// Where `run` would refuse to start them (require_ready), it then ends with that error.
int rehearse(const std::vector<Study>& studies, const RunOptions& options);

/// `stopped: ...`: why a study ends by itself, what that leaves, and what to do.
std::string stopped_text(const Study& study, const std::string& why, const std::string& left);

/// The template, programs and provenance that attempts are rendered with.
RenderContext make_render_context(const Study& study);

}  // namespace hpcbench
