#pragma once

#include <map>
#include <string>

#include "spec/yaml_tree.hpp"

namespace hpcbench {

/// `base` with `over` laid on it key by key: maps merge, all else is replaced. Conditions (`baseline`, `report.where`) are
/// replaced whole: half of one and half of another would mean neither. A `command` replaces a `trainer`, and the other way
/// round. `name: ~` below `parameters` takes that parameter back.
YamlNode overlay(const YamlNode& base, const YamlNode& over);

/// `over` without the parameters that it takes back: what it says by itself.
YamlNode without_removals(const YamlNode& over);

/// Sets the value at `path` (`resources.time`), maps on the way made where they are missing. Names the key on the way that is
/// no map, or returns the empty text.
std::string set_value(YamlNode& root, const std::vector<YamlKey>& path, const YamlNode& value);

/// For every key below `root` the place of its value, by path: `resources.time` -> `x.yaml:7:10`. Lists have one place.
void collect_origins(const YamlNode& root, const std::string& prefix, std::map<std::string, std::string>& origins);

}  // namespace hpcbench
