#include "submit/start_job.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/files.hpp"
#include "base/process.hpp"

namespace hpcbench {

namespace {

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
  int input_fd;
  int output_fd;
};

/// In the child: returns only on failure, with errno.
int become_job(const PreparedStart& start) {
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD}) ::sigaction(signal, &ordinary, nullptr);
  ::setsid();
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignored, nullptr);
  // dup2 leaves CLOEXEC off at its target, so these three are all that the program inherits.
  if (::dup2(start.input_fd, STDIN_FILENO) < 0 || ::dup2(start.output_fd, STDOUT_FILENO) < 0 ||
      ::dup2(start.output_fd, STDERR_FILENO) < 0) {
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
  // The name itself if nothing is found: execve then says why not.
  const std::string program = find_program(start.argv.front()).value_or(start.argv.front());
  std::vector<std::string> arguments = start.argv;
  std::vector<std::string> environment = changed_environment(own_environment(), start.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  // Never one of 0, 1 and 2 themselves (one of them may be closed): dup2 in the child would overwrite it.
  const Descriptor opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor null(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 3));
  if (null.get() < 0) return {-1, errno};
  const int output_fd = start.output_fd >= 0 ? start.output_fd : null.get();
  return fork_job({program.c_str(), argv.data(), envp.data(), null.get(), output_fd});
}

}  // namespace hpcbench
