#pragma once

#include <optional>
#include <string>

#include "base/files.hpp"

namespace hpcbench {

/// What says that a local job lives: a lock on `alive` in its attempt's folder, which the kernel releases when the job ends,
/// however that happens. It holds across PID namespaces of a host. The file is for its owner alone to open, so no reader's
/// lock can be taken for a job's.
///
/// Takes the lock, before the claim; it is held until the descriptor is closed. Absent if another process has it; -1 where the
/// file system has no locks: then the process in the claim tells.
std::optional<Descriptor> take_life(const std::string& attempt_folder);

/// Whether a job holds the lock. Absent where the file tells nothing: there is none, or another user made it.
std::optional<bool> holds_life(const std::string& attempt_folder);

}  // namespace hpcbench
