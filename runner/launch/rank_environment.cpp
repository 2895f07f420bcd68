#include "launch/rank_environment.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/container_variables.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kApptainerPrefix = "APPTAINERENV_";
constexpr const char* kEvaluated = "\\$`";

bool has_container_prefix(std::string_view name) {
  return std::any_of(kContainerPrefixes.begin(), kContainerPrefixes.end(),
                     [&](const char* const prefix) { return name.starts_with(prefix); });
}

}  // namespace

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

EnvironmentChanges apptainer_variables(const std::vector<std::string>& environment, const std::vector<std::string>& names) {
  std::set<std::string, std::less<>> wanted(names.begin(), names.end());
  wanted.insert(kContainerVariables.begin(), kContainerVariables.end());
  EnvironmentChanges changes;
  for (const std::string& variable : environment) {
    const std::size_t sign = variable.find('=');
    if (sign == std::string::npos) continue;
    const std::string name = variable.substr(0, sign);
    const std::string value = variable.substr(sign + 1);
    if (wanted.count(name) == 0 && !has_container_prefix(name)) continue;
    if (value.find_first_of(kEvaluated) == std::string::npos) changes[std::string(kApptainerPrefix) + name] = value;
  }
  // Those that somebody has set by themselves stay.
  for (const std::string& variable : environment) changes.erase(variable.substr(0, variable.find('=')));
  return changes;
}

}  // namespace hpcbench
