#include "submit/start_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

/// `execvp`'s search, done before the fork. The name itself if nothing is found: execve then says why not.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

std::vector<std::string> merged_environment(const JobStart& start) {
  const std::vector<std::pair<std::string, std::string>>& changes = start.environment;
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool changed = std::any_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; });
    if (!changed && (start.keeps == nullptr || start.keeps(name))) entries.emplace_back(text);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// All that the child needs, made before the fork: it shares our memory and must not allocate.
struct PreparedStart {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* folder;  // null: ours
  int input_fd;
  int output_fd;
  int error_fd;
  bool own_session;
};

/// In the child: returns only on failure, with errno.
int become_job(const PreparedStart& start) {
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) ::sigaction(signal, &ordinary, nullptr);
  if (start.own_session) {
    ::setsid();
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGHUP, &ignored, nullptr);
  }
  if (start.folder != nullptr && ::chdir(start.folder) != 0) return errno;
  // dup2 leaves CLOEXEC off at its target, so these three are all that the program inherits.
  if (::dup2(start.input_fd, STDIN_FILENO) < 0 || ::dup2(start.output_fd, STDOUT_FILENO) < 0 ||
      ::dup2(start.error_fd, STDERR_FILENO) < 0) {
    return errno;
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(start.program, start.argv, start.environment);
  return errno;
}

/// Apart, so that nothing of its callers lives across the vfork.
[[gnu::noinline]] StartedJob fork_job(const PreparedStart& start) {
  // No handler of ours may run in the child while it shares our memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  volatile int child_error = 0;
  const pid_t pid = ::vfork();
  if (pid == 0) {
    child_error = become_job(start);
    ::_exit(127);
  }
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return {-1, fork_error};
  if (child_error == 0) return {pid, 0};
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {-1, child_error};
}

}  // namespace

StartedJob start_job(const JobStart& start) {
  if (start.argv.empty()) return {-1, ENOENT};
  const std::string program = find_program(start.argv.front());
  std::vector<std::string> arguments = start.argv;
  std::vector<std::string> environment = merged_environment(start);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  // Never one of 0, 1 and 2 themselves (one of them may be closed): dup2 in the child would overwrite it.
  const Descriptor opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor null(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 3));
  if (null.get() < 0) return {-1, errno};
  const int output_fd = start.output_fd >= 0 ? start.output_fd : null.get();
  return fork_job({program.c_str(), argv.data(), envp.data(), start.folder.empty() ? nullptr : start.folder.c_str(), null.get(),
                   output_fd, start.error_fd >= 0 ? start.error_fd : output_fd, start.own_session});
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace hpcbench
