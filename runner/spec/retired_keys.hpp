#pragma once

#include <utility>
#include <vector>

#include "spec/experiment.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// The keys of earlier versions that an experiment file has, in its order, with the location for a diagnostic.
std::vector<std::pair<SourceLocation, RetiredKey>> find_retired_keys(const YamlNode& root);

}  // namespace hpcbench
