#include "launch/rank_environment.hpp"

#include <string>

namespace hpcbench {

int processes_per_node(int processes, int nodes) { return nodes > 0 && processes % nodes == 0 ? processes / nodes : processes; }

EnvironmentChanges rank_variables(const RankLayout& layout, int rank) {
  const std::string node = std::to_string(rank / layout.processes_per_node);
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(layout.processes)},
          {"LOCAL_RANK", std::to_string(rank % layout.processes_per_node)},
          {"LOCAL_WORLD_SIZE", std::to_string(layout.processes_per_node)},
          {"NODE_RANK", node},
          {"GROUP_RANK", node},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(layout.master_port)}};
}

}  // namespace hpcbench
