#pragma once

#include <optional>
#include <string>

#include "base/files.hpp"
#include "base/host.hpp"

namespace hpcbench {

/// A descriptor that becomes readable when that very process ends, and that signals reach no other through. Holds -1 if it has
/// ended or the kernel (before 5.3) has none.
Descriptor open_process(const ProcessIdentity& process);

/// Sends a signal to that very process of this host; false if it is gone or not ours to signal.
bool signal_process(const ProcessIdentity& process, int signal);

/// The process of this host and this user that runs `PROGRAM launch FOLDER`, with a token in its environment; absent if there
/// is none. `claimed`: what the attempt's claim names, which is believed only if it proves to be that.
std::optional<ProcessIdentity> find_launcher(const std::string& folder, const std::optional<ProcessIdentity>& claimed);

/// Kills what the job of an attempt left behind after its own process died: processes whose environment names this attempt's
/// run.json, and the rest of the job's session if one of them is in it. Waits until they are gone, at most two seconds.
void end_leftovers(const ProcessIdentity& job, const std::string& folder);

}  // namespace hpcbench
