#pragma once

#include "base/tool_runner.hpp"
#include "study/status_view.hpp"

namespace hpcbench {

/// The status as it is now: the index, what batches say that was submitted, and whether jobs still wait or run. Of Slurm's by
/// one squeue: job, node, why it waits, expected start; where it fails nothing is added, and `problem` says so. Of local ones
/// by their processes. The index must have been refreshed.
StatusView live_status(const Study& study, const Store& store, ToolRunner& tools, std::string& problem);

}  // namespace hpcbench
