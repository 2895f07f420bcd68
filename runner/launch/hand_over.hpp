#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace hpcbench {

/// What the shell of `modules` and `setup` leaves to the processes that are started after it. Only attempts of earlier versions
/// need it: their run.json says what to set up, and their job.sh starts no ranks for us, but claims, and calls `launch` itself.
/// People start them anew by hand, and results folders of theirs are there to stay.
struct HandOver {
  std::string workdir;  // empty: it has gone
  mode_t file_mask = 0;
  std::vector<rlimit> limits;            // by the resource's number
  std::vector<std::string> environment;  // KEY=VALUE
};

/// A file without a name that lives in memory: an environment may hold what must not be on disk.
/// UnavailableError if there is none available.
Descriptor open_hand_over();

/// Absent if the shell has not written all of it.
std::optional<HandOver> read_hand_over(const Descriptor& file);

/// The text that `setup_script` ends with: the working directory up to a zero byte, the umask, /proc/self/limits (a heading,
/// then a line for each resource by its number) and /proc/self/environ. Absent if it is anything else.
std::optional<HandOver> parse_hand_over(const std::string& text);

}  // namespace hpcbench
