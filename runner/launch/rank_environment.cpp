#include "launch/rank_environment.hpp"

#include <unistd.h>

#include <string_view>

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

std::vector<std::string> changed_environment(const std::map<std::string, std::optional<std::string>>& changes) {
  std::vector<std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) environment.emplace_back(text);
  }
  for (const auto& [key, value] : changes) {
    if (value) environment.push_back(key + "=" + *value);
  }
  return environment;
}

}  // namespace hpcbench
