#pragma once

#include <string>
#include <vector>

#include "base/faults.hpp"

namespace hpcbench {

/// One fault that an attempt met: a line of injected.jsonl, or injected.R.jsonl, of its folder.
struct InjectedFault {
  std::string kind;   // `kill_rank`, `slow_node`
  double unix_s = 0;  // of the host of the processes that were hit
  int rank = 0;       // that was hit; of a slow node the lowest one that the writer sees
  std::string text;   // for people: `rank 3 got SIGKILL after 30.0 s`
};

/// Notes it, durably, before it happens: a fault happens at most once. `writer`: the lowest rank of those that write here.
void note_injected(const std::string& attempt_folder, int writer, const InjectedFault& fault);
/// All that were noted, by time. Never throws: lines that are none are left out.
std::vector<InjectedFault> read_injected(const std::string& attempt_folder);

}  // namespace hpcbench
