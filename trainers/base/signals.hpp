#pragma once

#include <string>

namespace hpcbench::train {

/// From now on SIGTERM and SIGUSR1 only set a flag, on which the loop acts at the next step boundary, and a write to a closed
/// connection is an error instead of the end of the process.
void install_signal_flags();
bool is_terminated();
/// Acts as if the signal had been received: another rank of the run received it.
void mark_terminated();
/// Throws Terminated with the place `where` if the flag is set.
void throw_if_terminated(const std::string& where);

}  // namespace hpcbench::train
