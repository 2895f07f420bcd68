#pragma once

#include <string>

namespace hpcbench {

/// `hpcbench probe-node FOLDER`, which jobs of `hpcbench doctor --probe` run once on each node: `NODE.here` in FOLDER says that
/// the node sees it; once `NODE.seen` stands there (the login side's answer) or patience ends, `NODE.json` says what the node
/// has, in one JSON object. Returns the exit code.
int probe_node(const std::string& folder);

}  // namespace hpcbench
