#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// How an attempt of a block ended.
struct AttemptEnd {
  int status = 0;         // as launch_attempt returns it
  bool may_go_on = true;  // false: it was ended from outside, or its step could not begin: so would be, or could, the next one
  std::optional<std::string> shared = {};  // why it was not apart from a run that went on beside it
};

/// What an attempt has to know of its block.
struct BlockPlace {
  std::vector<std::string> nodes;  // the order in which they were drawn: a run takes as many from its beginning as it asks for
  std::string bindings;            // kBindingsFile of a block whose runs go on side by side; else empty
};

/// An attempt of a batch.
struct BatchAttempt {
  std::string path;  // relative to the folder of the experiment
  std::string hash;  // attempt_hash; empty: of a batch of an earlier version
};

/// launch_attempt, in a job of Slurm in which others follow: the run's own time limit is kept, not the job's.
AttemptEnd launch_in_block(const std::string& attempt_folder, const std::string& token, const std::string& hash,
                           const BlockPlace& block);

}  // namespace hpcbench
