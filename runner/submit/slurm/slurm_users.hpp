#pragma once

#include <set>
#include <string>
#include <string_view>

namespace hpcbench {

// Several people may share a folder of results. Slurm's tools are asked about jobs of all who handed over a batch there.

/// The number of the user who handed over a batch: the owner of its list of attempts; this user, where there is none.
unsigned int submitter_of(const std::string& results, const std::string& batch);

/// The name of a user, or the number where there is none.
std::string user_name_of(unsigned int uid);

/// `; jobs of anna only anna can end`; empty where there are no others.
std::string whose_jobs(const std::set<unsigned int>& others);

/// Whether users see only their own jobs, by `scontrol show config` (PrivateData).
bool hides_jobs_of_others(std::string_view config);

}  // namespace hpcbench
