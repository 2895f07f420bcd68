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
  bool detach = false;              // ends once all is submitted; only with Slurm, where jobs need nobody here
  bool keep_going = false;          // neither missing files nor failures stop it
  bool simulate_nodes = false;      // several nodes may be processes of this machine
  std::optional<int> max_failures;  // stops after so many
  /// Outcomes whose runs get a new attempt first (`retry`); empty: none.
  std::vector<State> retry;
  std::string prepare_again;  // a preparation that failed, or whose inputs changed, gets a new attempt first; empty: none
};

/// `run` and `retry`: takes the lock (or follows its owner until it is gone), carries the study through its executor, keeps
/// the index, and ends with a summary. Returns the exit code.
int run_study(const Study& study, const RunOptions& options);

/// InputError for a study of imports alone.
void require_program(const Study& study);

/// What `run --dry-run` prints: the runs that `run` would start now, in order. Starts, locks and writes nothing but the index.
/// Where `run` would refuse to start them (require_ready), it then ends with that error.
int rehearse(const Study& study, const RunOptions& options);

/// The template, programs and provenance that attempts are rendered with.
RenderContext make_render_context(const Study& study);

}  // namespace hpcbench
