#pragma once

#include <string>

namespace hpcbench::train {

/// From now on SIGTERM and SIGUSR1 only set a flag, on which the loop acts at the next step boundary, and a write to a closed
/// connection is an error instead of the process's end.
void install_signal_flags();
bool is_terminated();
/// As if the signal had come: another rank of the run got it.
void mark_terminated();
/// Throws Terminated, saying `where`, once the flag is set.
void throw_if_terminated(const std::string& where);

}  // namespace hpcbench::train
