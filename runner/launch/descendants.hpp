#pragma once

#include <sys/types.h>

#include <vector>

namespace hpcbench {

/// A living process that some process of ours started, however indirectly.
struct Descendant {
  pid_t pid = 0;
  pid_t group = 0;
  double cpu_s = 0;         // of its own and of the children that it has waited for
  long long rss_bytes = 0;  // resident memory
};

/// All living descendants of this process, by a walk through /proc. Complete for a child subreaper (prctl), save for
/// processes that are started during the walk.
std::vector<Descendant> find_descendants();
/// Those of another process, each after the one that started it.
std::vector<Descendant> find_descendants(pid_t ancestor);

}  // namespace hpcbench
