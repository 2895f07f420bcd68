#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tool_runner.hpp"
#include "ingest/attempt_record.hpp"
#include "plan/plan.hpp"
#include "render/block_times.hpp"
#include "store/store.hpp"

namespace hpcbench {

/// By config_id, from the attempts on record: those of Slurm that succeeded say what they took, and one that reached its time
/// limit says that all of it is needed. None for a configuration without either, or without a limit.
std::map<std::string, RunEstimate> estimate_runs(const Plan& plan, const std::vector<AttemptRecord>& attempts);

/// By partition_of, the longest job that Slurm takes there and with the site's QOS, as `scontrol` and `sacctmgr` say: two calls
/// at most. What they do not say is not there.
std::map<std::string, LongestJob> find_longest_jobs(const Experiment& experiment, const Plan& plan, ToolRunner& tools);

/// What is known of the time of an experiment's blocks; nothing where it has none, or none of Slurm.
BlockTimes find_block_times(const Experiment& experiment, const Plan& plan, const Store& store, ToolRunner& tools);

}  // namespace hpcbench
