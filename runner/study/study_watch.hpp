#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "study/failure_watch.hpp"

namespace hpcbench {

/// What one call has seen of a study and said about it, and when that ends the call: over all rounds.
struct StudyWatch {
  FailureLimits limits;
  FailureWatch failures;
  int kinds_told = 0;                                            // of failures
  std::set<std::string> succeeded;                               // configurations of which a run has
  std::set<std::string> warned;                                  // metrics that were warned of
  int measured = 0;                                              // repeats that succeeded
  std::map<std::string, std::vector<AttemptKey>> without_value;  // of these, by metric that they lack

  std::optional<std::string> reason_to_stop() const { return failures.reason_to_stop(limits); }
};

}  // namespace hpcbench
