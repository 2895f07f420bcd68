#include "submit/prepare.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "submit/start_job.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kPrepareTail = 2000;  // bytes of output in an error

int wait_for_prepare(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw UnavailableError(fmt::format("error: cannot wait for `prepare`: {}", std::strerror(errno)));
  }
  return status;
}

}  // namespace

void run_prepare(const std::vector<std::string>& command, const std::string& folder, const std::string& log_path) {
  const Descriptor log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (log.get() < 0) throw UnavailableError(fmt::format("error: cannot write {}: {}", log_path, std::strerror(errno)));
  const std::string shown = join(command, " ");
  const StartedJob started =
      start_job({.argv = command, .environment = {}, .folder = folder, .output_fd = log.get(), .own_session = false});
  if (started.pid < 0) {
    throw UnavailableError(fmt::format("error: cannot start `prepare` ({}): {}", shown, std::strerror(started.error)));
  }
  const int status = wait_for_prepare(started.pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw UnavailableError(fmt::format("error: `prepare` ({}) failed: {}; nothing was submitted. The end of {}:\n{}", shown,
                                     describe_wait_status(status), log_path, trim(read_tail(log_path, kPrepareTail))));
}

}  // namespace hpcbench
