#pragma once

#include <string>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// A key of an earlier version that a file still has.
struct RetiredKey {
  SourceLocation place;
  std::string path;    // `allocation.calibrate`
  std::string advice;  // how the same is done without it
};

/// Those of an experiment file, in its order. Their runs stay readable; none begins.
std::vector<RetiredKey> find_retired_keys(const YamlNode& root);

}  // namespace hpcbench
