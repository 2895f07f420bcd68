#include "study/study_log.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

/// This call, as it could be typed again.
std::string command_line() {
  std::string text;
  const std::string arguments = read_file_if_there("/proc/self/cmdline").value_or("hpcbench");
  for (const std::string& argument : split(arguments.substr(0, arguments.find_last_not_of('\0') + 1), '\0')) {
    text += (text.empty() ? "" : " ") + shell_quote(argument);
  }
  return text;
}

}  // namespace

void open_study_log(const std::string& results) {
  open_log(results + "/hpcbench.log");
  std::error_code ignored;
  log_info(fmt::format("begins: {} (hpcbench {}, on {}, in {})", command_line(), HPCBENCH_VERSION, host_name(),
                       std::filesystem::current_path(ignored).string()));
}

void close_study_log(int exit_code) {
  log_info(fmt::format("ends with exit code {}", exit_code));
  const std::optional<std::string> problem = log_problem();
  close_log();
  if (problem) say(fmt::format("note: hpcbench.log is not complete: {}; nothing else depends on it", *problem));
}

}  // namespace hpcbench
