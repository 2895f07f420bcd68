#pragma once

#include <string>
#include <vector>

#include "base/run_history.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"
#include "render/attempt.hpp"

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

/// `retries`: how often an attempt may be lost before the instance has failed.
PreparationStatus preparation_status(const std::string& results, const PreparedInstance& instance, const Retries& retries);
/// Its attempts as their folders tell: preparations are in no database.
std::vector<AttemptState> preparation_attempts(const std::string& results, const PreparedInstance& instance);

/// Of one attempt's folder: whether its command runs no more, and whether it was made.
bool preparation_has_ended(const std::string& folder);
bool preparation_succeeded(const std::string& folder);

/// The paths of files that differ, were added or are gone.
std::vector<std::string> changed_inputs(const std::vector<CodeFile>& then, const std::vector<CodeFile>& now);

}  // namespace hpcbench
