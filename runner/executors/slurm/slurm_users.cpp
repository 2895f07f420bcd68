#include "executors/slurm/slurm_users.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executors/slurm/slurm_parse.hpp"

namespace hpcbench {

unsigned int submitter_of(const std::string& results, const std::string& batch) {
  struct stat file {};
  return ::stat((results + "/batches/" + batch + "/attempts.txt").c_str(), &file) == 0 ? file.st_uid : ::getuid();
}

std::string user_name_of(unsigned int uid) {
  const passwd* const user = ::getpwuid(uid);
  return user == nullptr ? std::to_string(uid) : user->pw_name;
}

std::string whose_jobs(const std::set<unsigned int>& others) {
  std::string text;
  for (const unsigned int other : others) text += fmt::format("; jobs of {0} only {0} can end", user_name_of(other));
  return text;
}

bool may_hide_jobs(const ToolResult& config) {
  return !config.succeeded() || config_value(config.output, "PrivateData").value_or("").find("jobs") != std::string::npos;
}

}  // namespace hpcbench
