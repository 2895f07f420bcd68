#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// Variables by name; nullopt removes the variable.
using EnvironmentChanges = std::map<std::string, std::optional<std::string>>;

/// Returns the environment of this process, `KEY=VALUE` each.
std::vector<std::string> own_environment();

/// Returns `environment` with `changes` made.
std::vector<std::string> changed_environment(const std::vector<std::string>& environment, const EnvironmentChanges& changes);

}  // namespace hpcbench
