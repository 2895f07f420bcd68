#pragma once

#include <string>
#include <vector>

#include "spec/diagnostics.hpp"
#include "spec/yaml_tree.hpp"

namespace hpcbench {

/// Complains about each option of an `extra` list that hpcbench writes itself or relies on, with the key to use instead. An
/// option is known as sbatch knows it: long, short (alone, joined with its value, behind other short ones) and abbreviated.
/// `node` is the list, `options` what was read from it, `what` its name: `resources.extra`.
void check_sbatch_options(const YamlNode& node, const std::vector<std::string>& options, const std::string& what,
                          Diagnostics& diagnostics);

}  // namespace hpcbench
