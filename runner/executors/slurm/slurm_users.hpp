#pragma once

#include <set>
#include <string>

#include "base/tool_runner.hpp"

namespace hpcbench {

// Several people may share a folder of results. Slurm's tools are asked about jobs of all who handed over a batch there.

/// The number of the user who handed over a batch: the owner of its list of attempts; this user, where there is none.
unsigned int submitter_of(const std::string& results, const std::string& batch);

/// The name of a user, or the number where there is none.
std::string user_name_of(unsigned int uid);

/// `; jobs of anna only anna can end`; empty where there are no others.
std::string whose_jobs(const std::set<unsigned int>& others);

/// Whether users may see only their own jobs (PrivateData), by the answer to `scontrol show config`; true without an answer.
bool may_hide_jobs(const ToolResult& config);

}  // namespace hpcbench
