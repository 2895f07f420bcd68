#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "spec/experiment.hpp"
#include "store/program_versions.hpp"
#include "store/store.hpp"

namespace hpcbench {

/// A study's files as changed_program compares them.
struct ProgramQuestion {
  const Experiment& experiment;
  const Plan& plan;            // whose runs are compared
  const std::string& results;  // results/EXPERIMENT
};

/// Files that the kept runs of a plan executed and whose content differs now. For `run`, which would execute the files as seen
/// from the present folder and PATH.
std::vector<ProgramChange> changed_for_run(const ProgramQuestion& question, const Store& store);
/// The same for commands that look at results: the files where the last of these runs found them.
std::vector<ProgramChange> changed_since_runs(const ProgramQuestion& question, const Store& store);

/// `a.py changed since 6 of 12 runs, b.py changed since 2 of 12 runs`; empty if nothing changed.
std::string text_of(const std::vector<ProgramChange>& changes);

}  // namespace hpcbench
