#include "launch/rank_environment.hpp"

#include <unistd.h>

namespace hpcbench {

int processes_per_node(int processes, int nodes) { return nodes > 0 && processes % nodes == 0 ? processes / nodes : processes; }

std::map<std::string, std::string> rank_variables(const RankLayout& layout, int rank) {
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

std::vector<std::string> changed_environment(const std::vector<std::string>& environment, const EnvironmentChanges& changes) {
  std::vector<std::string> changed;
  for (const std::string& entry : environment) {
    if (!changes.contains(entry.substr(0, entry.find('=')))) changed.push_back(entry);
  }
  for (const auto& [key, value] : changes) {
    if (value) changed.push_back(key + "=" + *value);
  }
  return changed;
}

std::vector<std::string> changed_environment(const EnvironmentChanges& changes) {
  std::vector<std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return changed_environment(environment, changes);
}

}  // namespace hpcbench
