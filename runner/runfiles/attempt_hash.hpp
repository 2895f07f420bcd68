#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// The SHA-256 of what an attempt executes: run.json, job.sh (empty: there is none) and the files of `files`, in the order in
/// which run.json names them. The dispatcher passes it to the launcher, which executes nothing else.
std::string attempt_hash(const std::string& run_json, const std::string& job_sh, const std::vector<std::string>& decks);

/// The same of an attempt's folder, whose run.json has been read. Differs from any other where a file is missing.
std::string hash_of_folder(const std::string& attempt_folder, const std::string& run_json);

/// In a batch's folder: a line `HASH ATTEMPT` for each attempt. Its own hash stands in the script that Slurm keeps.
inline constexpr const char* kHashesFile = "attempts.sha256";

}  // namespace hpcbench
