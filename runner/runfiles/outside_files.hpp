#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/glob.hpp"

namespace hpcbench {

// Files of metrics outside of the attempt's folder, where the next run may write, too: a copy of them is kept when the run
// ends, and only copies are read (docs/run-directory.md).

/// The copies: `outside/home/me/logs/a.csv`; and what was done with each file, a line each: `kept BYTES PATH`, `too_large BYTES
/// PATH`, `unreadable BYTES PATH`. The list is written last: where it exists, all possible copies were kept.
inline constexpr const char* kOutsideFolder = "outside";
inline constexpr const char* kOutsideList = "outside.txt";
inline constexpr long long kLargestOutsideFile = 64LL << 20;
inline constexpr long long kLargestOutside = 256LL << 20;  // all copies of an attempt

/// Time stamps between which a file was last changed, in seconds since the epoch.
struct ChangedBetween {
  double from_unix_s = 0;
  double to_unix_s = 0;
};
/// Whether the file was last changed then, clocks of hosts and file servers apart by 2 s at most.
bool was_changed(const std::string& path, const ChangedBetween& between);

/// Keeps copies in the attempt's folder of what the globs match outside of it, and writes the list; nothing where there are no
/// globs. `between`: only of files that were changed then. Total: the list names what cannot be copied.
void keep_outside_files(const std::string& folder, const std::string& run_dir, const std::vector<OutsideGlob>& globs,
                        const std::optional<ChangedBetween>& between = std::nullopt);

}  // namespace hpcbench
