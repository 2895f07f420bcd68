#pragma once

#include "base/environment.hpp"

namespace hpcbench {

/// How the processes of a run are spread over its nodes. On this machine all nodes are this host.
struct RankLayout {
  int processes = 1;
  int processes_per_node = 1;
  int master_port = 0;
};

/// processes / nodes where that is whole, else all on one node.
int processes_per_node(int processes, int nodes);

/// The variables of one rank, named and counted as torchrun has them (MASTER_ADDR is this host).
EnvironmentChanges rank_variables(const RankLayout& layout, int rank);

}  // namespace hpcbench
