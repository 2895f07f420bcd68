#pragma once

#include <string>
#include <vector>

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

/// Apptainer lets variables of an image win over ours, and with `--cleanenv` passes none on, except under names of its own
/// (`APPTAINERENV_NAME`): these, for what a program gets from hpcbench, from Slurm, and from `names` of its experiment. A value
/// that apptainer would read as text of a shell has none and is passed on as all others are.
EnvironmentChanges apptainer_variables(const std::vector<std::string>& environment, const std::vector<std::string>& names);

}  // namespace hpcbench
