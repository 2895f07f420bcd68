#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// `hpcbench probe-node FOLDER [PROGRAM...]`, which jobs of `hpcbench doctor --probe` run once on each node: `NODE.here` in
/// FOLDER says that the node sees it; once `NODE.seen` stands there (the login side's answer) or patience ends, `NODE.json`
/// says what the node has, in one JSON object: its cores, memory and GPUs, which of `programs` it has not, and where one of
/// them is Python's and there are GPUs, which PyTorch. Returns the exit code.
int probe_node(const std::string& folder, const std::vector<std::string>& programs);

}  // namespace hpcbench
