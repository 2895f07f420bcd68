#pragma once

#include "base/clock.hpp"
#include "base/tool_runner.hpp"
#include "doctor/doctor.hpp"

namespace hpcbench {

/// Submits one short job for each shape (nodes, gpus and ranks of a node, partition) of the study, waits for all together at
/// most `limit_s`, and reports the facts of their nodes. With the executor local it runs one job on this machine. Jobs end or
/// are cancelled, even if the user interrupts, and the probe's folder is removed; no run is made.
void probe_nodes(const Study& study, ToolRunner& tools, Clock& clock, double limit_s, Findings& findings);

}  // namespace hpcbench
