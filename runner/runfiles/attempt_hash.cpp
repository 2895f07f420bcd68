#include "runfiles/attempt_hash.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

std::string attempt_hash(const std::string& run_json, const std::string& job_sh, const std::vector<std::string>& decks) {
  std::string parts = sha256_hex(run_json) + sha256_hex(job_sh);
  for (const std::string& deck : decks) parts += sha256_hex(deck);
  return sha256_hex(parts);
}

std::string hash_of_folder(const std::string& attempt_folder, const std::string& run_json) {
  const RunInfo info = parse_run_json(run_json);
  const std::string run_dir = run_dir_of(attempt_folder, info);
  std::vector<std::string> decks;
  for (const std::string& name : info.decks) decks.push_back(read_file_if_there(run_dir + "/" + name).value_or("missing"));
  return attempt_hash(run_json, read_file_if_there(attempt_folder + "/job.sh").value_or(""), decks);
}

}  // namespace hpcbench
