#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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
std::map<std::string, std::string> rank_variables(const RankLayout& layout, int rank);

/// By name; absent: removed.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

/// `environment`, `KEY=VALUE` each, with `changes` made.
std::vector<std::string> changed_environment(const std::vector<std::string>& environment, const EnvironmentChanges& changes);

/// This process's environment with `changes` made.
std::vector<std::string> changed_environment(const EnvironmentChanges& changes);

}  // namespace hpcbench
