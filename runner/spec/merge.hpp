#pragma once

#include <map>
#include <string>

#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// `base` with `over` laid on it key by key: maps merge, all else is replaced. Conditions (`baseline`, `report.where`),
/// axes and single profiles are replaced whole. A `command` replaces a `trainer`, and the other way
/// round. `key: ~` takes the key away, and so does an empty list where a list need not be there (`exclude: []`); a map of which
/// nothing is left goes with it.
YamlNode merge(const YamlNode& base, const YamlNode& over);

/// Sets the value at `path` (`resources.time`), or takes the key away as `merge` does, maps on the way made where they are
/// missing. Names the key on the way that is no map, or returns the empty text.
std::string set_value(YamlNode& root, const std::vector<YamlKey>& path, const YamlNode& value);

/// Whether a node is `~` or `null`, not merely left blank.
bool is_removal(const YamlNode& node);

/// What a profile says by itself: without the keys that it takes away.
YamlNode without_removals(const YamlNode& over);

/// Complains about keys that `over` takes away from `base` and that are not there.
void refuse_vain_removals(const YamlNode& base, const YamlNode& over, Diagnostics& diagnostics);

/// For every key below `root` the place of its value, by path: `resources.time` -> `x.yaml:7:10`. Lists have one place.
void collect_origins(const YamlNode& root, const std::string& prefix, std::map<std::string, std::string>& origins);

}  // namespace hpcbench
