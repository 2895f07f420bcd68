#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/experiment.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// The path of a site file: `said` is a path (it holds `/` or ends in .yaml) or a name, looked for as sites/NAME.yaml in the
/// current folder, beside the program, above it and in ../share/hpcbench. InputError with the existing names if there is none.
std::string find_site(const std::string& said);
/// The names that it knows, sorted.
std::vector<std::string> site_names();

/// $XDG_CONFIG_HOME/hpcbench/site.yaml or ~/.config/hpcbench/site.yaml, if there is such a file.
std::optional<std::string> default_site();

/// Reads and checks a site. Its name is that of its file unless it says `name`.
Site read_site(const YamlNode& root, const std::string& path, Diagnostics& diagnostics);

}  // namespace hpcbench
