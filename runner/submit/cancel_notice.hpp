#pragma once

#include <string>

namespace hpcbench {

/// results/EXPERIMENT/last_cancel changes whenever `hpcbench cancel` has done its part, so that a `run` that goes on elsewhere
/// learns of it by reading one small file a second, without asking Slurm more often. Never throws: it is for speed alone.
void leave_cancel_notice(const std::string& results);
/// What the last cancel left; empty: none.
std::string read_cancel_notice(const std::string& results);
/// The same with a request to the process that runs the study: it begins no more runs, and ends.
void request_end(const std::string& results);
/// The last such request; empty: there is none.
std::string read_end_request(const std::string& results);

}  // namespace hpcbench
