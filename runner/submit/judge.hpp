#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/state.hpp"
#include "runfiles/claim.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Such a WHY for people: `never ran and does not count: an earlier call ended before its job began`.
std::string explain_void(std::string_view why);

/// The state of an attempt by its folder and its executor. `unknown`: its job cannot be seen from here (another host), and
/// nothing may be concluded.
struct Verdict {
  JobState state = JobState::running;
  std::string job = {};               // the executor's id, where there is one
  std::optional<State> outcome = {};  // of one that ended; absent: finished.json tells it
  std::string reason = {};            // for the outcome, or why the job cannot be seen, or JobStatus::out_of_reach
  bool is_void = false;               // revoked by recovery: it never ran and does not count
};

/// Whether `folder` holds finished.json.
bool has_finished(const std::string& folder);
/// Whether `folder` holds run.json, which is there before the attempt is handed over.
bool has_run_json(const std::string& folder);
/// Whether its processes ended as they should not, by a signal or another exit code than `success` asked for when it was
/// started. False where no process was started, or the time limit or a person ended it.
bool ended_badly(const std::string& folder);
/// Whether the attempt is taken, as far as visible: by a claim or finished.json.
bool is_taken(const std::string& folder);

/// What to claim in place of a job where no claim is seen, and what then holds of the attempt: only winning the claim proves
/// that no job has it.
struct Seizure {
  Claim claim;
  Verdict verdict;
};
/// Revokes it; a `why` that begins with kVoidPrefix makes it void, any other cancelled.
Seizure revoke_attempt(const std::string& why);
/// Claims it for the job that died before it could: the attempt is lost.
Seizure bury_attempt(const std::string& token, const std::string& job, const std::string& why);

/// What to claim in place of a job that ended so without a claim: the attempt is void, cancelled, or lost for `why` unless the
/// executor says how it ended. `token`, `job`: whose it was.
Seizure seize_unbegun(const JobStatus& end, const std::string& token, const std::string& job, const std::string& why);

/// Claims it so, and logs that; false if it is taken already.
bool seize_attempt(const std::string& folder, const Seizure& seizure);

/// Judges an attempt that was, or may have been, handed over. `ended`: what the executor said when the job ended; absent: it
/// is asked.
Verdict judge_attempt(const std::string& folder, const std::string& job, const std::optional<std::string>& ended,
                      const Seizure& unclaimed, Executor& executor);
/// A job that was lost as far as its folder tells ended as the executor says, where that speaks of the same job.
void heed_executor(Verdict& verdict, const JobStatus& end);

}  // namespace hpcbench
