#pragma once

#include <string>

namespace hpcbench {

/// From here on this call is logged in RESULTS/hpcbench.log; first of all what it is.
void open_study_log(const std::string& results);

/// Logs how the call ends, and says so where the log could not be written.
void close_study_log(int exit_code);

}  // namespace hpcbench
