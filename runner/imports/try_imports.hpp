#pragma once

#include <string>
#include <vector>

#include "imports/import_runs.hpp"

namespace hpcbench {

/// A run that an import would give.
struct TriedRun {
  std::string point;  // `strategy=ddp, nodes=2`
  std::string name;   // its fact `id`, `run` or `repeat`; empty without
  std::string outcome;
  std::vector<std::string> metrics;  // `step_ms=132.3`
  std::string source;                // a path, or a table and its line
  std::vector<std::string> warnings;
};

struct TriedImports {
  std::vector<TriedRun> runs;
  std::vector<std::string> problems;
  std::vector<std::string> notes;
};

/// Carries out imports in a temporary folder: the results folder stays as it is, and its earlier imports do not count.
TriedImports try_imports(const Study& study, const ImportPlan& plan, ImportOrigin origin);

/// The runs as a table for people.
std::string tried_runs_text(const std::vector<TriedRun>& runs);

}  // namespace hpcbench
