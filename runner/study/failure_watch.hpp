#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "base/state.hpp"

namespace hpcbench {

/// When a campaign ends by itself because going on would only fail again.
struct FailureLimits {
  bool keep_going = false;       // runs all, whatever fails
  std::optional<int> most;       // --max-failures
  std::set<std::string> to_run;  // the configurations that have runs to do
  bool any_succeeded = false;    // a run that counts succeeded in an earlier call
  long long failed_before = 0;   // runs that failed in earlier calls, and get no other attempt now
};

/// Whether the program failed: failed, timeout, out_of_memory.
bool is_own_failure(State state);

/// The failures of one call, told apart by how they happened: the numbers in a message do not make it another failure, an exit
/// code or a signal does.
class FailureWatch {
 public:
  /// True if this is the first failure of its kind.
  bool note_failure(const AttemptKey& attempt, State state, const std::string& reason);
  void note_success() { succeeded_ = true; }
  /// The failed attempt is followed by another: it is no reason to stop, and no run that failed.
  void forgive(const AttemptKey& attempt);

  /// Why to stop: `most` runs have failed (also out of time or of memory), or each configuration has failed in one and the same
  /// way, at least twice in all, and nothing has succeeded. Absent: go on.
  std::optional<std::string> reason_to_stop(const FailureLimits& limits) const;

  /// A line for each kind that happened more than once in this call.
  std::vector<std::string> repeated() const;

 private:
  struct Kind {
    State state = State::failed;
    std::string reason;  // of the first
    long long count = 0;
  };
  std::map<std::string, Kind> kinds_;
  std::map<AttemptKey, std::string> own_failures_;  // their kinds
  std::map<std::string, int> failed_;               // configurations, with how many runs
  long long failures_ = 0;                          // failed, timeout, out_of_memory
  bool others_ = false;                             // lost, cancelled ...: not the program's doing
  bool succeeded_ = false;
};

}  // namespace hpcbench
