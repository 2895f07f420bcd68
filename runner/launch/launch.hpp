#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// Runs an attempt on this machine: claims it, starts its processes, waits, writes finished.json last of all.
/// `token` is what the submission handed over (HPCBENCH_TOKEN); without it the attempt is run by hand: nothing is claimed,
/// and output goes to ./manual-TIME.
/// Returns the exit status that the program should end with (0 when the claim was lost: somebody else has it).
int launch_attempt(const std::string& attempt_folder, const std::string& token);

/// `launch -n N -- COMMAND`: N ranks here with the environment of docs/run-directory.md, output passed through.
/// Exit status as the first process that failed.
int launch_ranks(int ranks, const std::vector<std::string>& command);

}  // namespace hpcbench
