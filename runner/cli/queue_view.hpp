#pragma once

#include "cli/status_view.hpp"
#include "submit/tool_runner.hpp"

namespace hpcbench {

/// Adds what Slurm's queue says now of the runs that have not ended: job, node, why it waits, expected start. One squeue; where
/// it fails the view stays as it is, and that is said on stderr.
void add_queue(StatusView& view, const Study& study, ToolRunner& tools);

}  // namespace hpcbench
