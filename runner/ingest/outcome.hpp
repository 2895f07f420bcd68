#pragma once

#include <optional>
#include <string>

#include "base/state.hpp"
#include "ingest/events.hpp"
#include "runfiles/run_info.hpp"
#include "runfiles/settled.hpp"

namespace hpcbench {

/// How an attempt ended, and why it did not succeed.
struct Outcome {
  State state = State::succeeded;
  std::optional<std::string> reason;
};

/// What event files of all ranks say about a failure.
struct FailureEvidence {
  std::optional<ErrorEvent> error;  // of the first rank that failed, else of the lowest rank that wrote one
  std::optional<ErrorEvent> out_of_memory;
  std::optional<ErrorEvent> diverged;  // code `nan_loss`
};

/// docs/events.md, "Outcomes": the first of these that holds. Cancelled; time limit; out of memory, with evidence; no
/// process could be started; another exit code than `success` asks for, or a signal; `success.pattern` not in stdout.log.
/// `pattern_found` is absent where no pattern is asked for.
Outcome decide_outcome(const Finished& finished, const RunInfo& info, const FailureEvidence& evidence,
                       std::optional<bool> pattern_found);

/// Why an attempt that ended without finished.json did: what was said when it was settled, and where that may tell more, the
/// last line that it wrote.
std::optional<std::string> explain_settled(const Settled& settled);

}  // namespace hpcbench
