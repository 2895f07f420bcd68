#pragma once

#include <string>

#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

/// job.sh of an attempt on this machine.
struct LocalScript {
  std::string folder;   // the attempt's
  std::string run_dir;  // the program's
  int master_port = 0;
  double grace_s = 5;  // of the ranks
};

/// Runs job.sh, which ends in `hpcbench rank -n N`, and gathers what its ranks report. That process ends the ranks when one
/// fails or when it is asked to; the time limit counts from the start of the script.
void run_local_script(const LocalScript& script, const RunInfo& run, Supervisor& supervisor, FinishedFacts& facts);

}  // namespace hpcbench
