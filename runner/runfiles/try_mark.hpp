#pragma once

#include <string>

namespace hpcbench {

// A try is one start of an attempt's job.sh. Its folder holds what its ranks report and `mark`, a symbolic link to a name that
// says what became of the try: creating one is exclusive and gives it its content at a stroke, on shared file systems, too.
// The first rank that begins creates it, or whoever closes the try because none has begun. Only a closed try is repeated, and
// a rank that comes late leaves.

/// True if this rank may run: it, or another rank before it, has begun the try. False if the try was closed, or is gone.
/// `step` is the name of the rank's step in the scheduler, or any other text that is no word of ours.
/// UnavailableError where the mark cannot be created.
bool begin_try(const std::string& folder, const std::string& step);

/// True if the try is closed now: no rank of it has begun, and none will. False if one has begun.
bool close_try(const std::string& folder);

/// The step that the first rank named; empty where none has begun.
std::string step_of_try(const std::string& folder);

}  // namespace hpcbench
