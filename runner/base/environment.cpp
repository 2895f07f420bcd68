#include "base/environment.hpp"

#include <unistd.h>

namespace hpcbench {

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
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

}  // namespace hpcbench
