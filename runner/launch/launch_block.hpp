#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// How an attempt of a block ended.
struct AttemptEnd {
  int status = 0;         // as launch_attempt returns it
  bool may_go_on = true;  // false: it was ended from outside, or its step could not begin: so would be, or could, the next one
};

/// launch_attempt, in a job of Slurm in which others follow: the run's own time limit is kept, not the job's. `nodes` is the
/// order in which the block's nodes were drawn: a run takes as many from its beginning as it asks for.
AttemptEnd launch_in_block(const std::string& attempt_folder, const std::string& token, const std::vector<std::string>& nodes);

}  // namespace hpcbench
