#pragma once

#include <string>
#include <vector>

#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// Complains about each option of a list `srun` that hpcbench writes itself or relies on, as check_sbatch_options does for
/// `extra`, and about names of options that are placeholders. `node` is the list, `options` what was read from it.
void check_srun_options(const YamlNode& node, const std::vector<std::string>& options, Diagnostics& diagnostics);

}  // namespace hpcbench
