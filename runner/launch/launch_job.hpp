#pragma once

#include <string>

#include "launch/step_script.hpp"

namespace hpcbench {

/// launch_attempt, in a job of Slurm in which others follow: the run's own time limit is kept, not the job's.
AttemptEnd launch_in_block(const std::string& attempt_folder, const std::string& token, const std::string& hash,
                           const BlockPlace& block);

}  // namespace hpcbench
