#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// Runs the experiment's `prepare` command in `folder` and waits for it; its output goes to `log_path`. UnavailableError with
/// the end of that output if it cannot be started or fails.
void run_prepare(const std::vector<std::string>& command, const std::string& folder, const std::string& log_path);

}  // namespace hpcbench
