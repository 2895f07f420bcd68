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
  std::string folder = {};              // of the attempt that counts, absolute
  std::string why = {};                 // it failed
  std::vector<CodeFile> inputs = {};    // what it was made of
  std::vector<std::string> needs = {};  // folders of other preparations that it was given

  bool succeeded() const { return state == State::succeeded; }
  bool failed() const { return state == State::failed; }
};

/// `experiment.retries` says how often an attempt may be lost before the instance has failed.
PreparationStatus preparation_status(const Experiment& experiment, const std::string& results,
                                     const PreparedInstance& instance);
/// Its attempts as their folders tell: preparations are in no database.
std::vector<AttemptState> preparation_attempts(const std::string& results, const PreparedInstance& instance);

/// Of one attempt's folder: `submitted` until its command has ended.
State preparation_state(const std::string& folder);

/// The paths of files that differ, were added or are gone.
std::vector<std::string> changed_inputs(const std::vector<CodeFile>& then, const std::vector<CodeFile>& now);

}  // namespace hpcbench
