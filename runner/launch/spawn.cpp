#include "launch/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/files.hpp"
#include "base/host.hpp"

namespace hpcbench {

namespace {

constexpr int kSpawnFailed = 127;  // as shells have it

enum class StartStage { enter, execute };

/// What a process tells its parent, through a pipe that exec closes, when it could not become its program.
struct StartReport {
  int rank;
  StartStage stage;
  int code;
};

/// Everything that a new process needs, made before fork.
struct PreparedProcess {
  const ProcessSpec& spec;
  std::vector<char*> argv, environment;
  Descriptor output, error;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

Descriptor open_output(const std::string& path, bool append) {
  // O_APPEND: programs that open the file a second time do not overwrite each other.
  return open_study_file(path, (append ? 0 : O_TRUNC) | O_APPEND);
}

void reset_signals(bool dispositions) {
  if (dispositions) {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGXFSZ, SIGUSR1, SIGUSR2}) {
      ::signal(signal, SIG_DFL);
    }
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void report_and_exit(int report_fd, const StartReport& report) {
  // A pipe takes this many bytes in one piece; nobody is left to tell if it fails.
  [[maybe_unused]] const ssize_t written = ::write(report_fd, &report, sizeof report);
  ::_exit(kSpawnFailed);
}

[[noreturn]] void become_program(const PreparedProcess& process, pid_t group, pid_t launcher, int null_fd, int report_fd) {
  const ProcessSpec& spec = process.spec;
  ::setpgid(0, group);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(kSpawnFailed);  // it died before we asked
  ::dup2(null_fd, STDIN_FILENO);
  const int output_fd = process.output.get() >= 0 ? process.output.get() : spec.output_fd;
  const int error_fd = process.error.get() >= 0 ? process.error.get() : spec.error_fd;
  if (output_fd >= 0) ::dup2(output_fd, STDOUT_FILENO);
  if (error_fd >= 0) ::dup2(error_fd, STDERR_FILENO);
  reset_signals(spec.isolated);
#ifdef SYS_close_range
  constexpr unsigned kSetCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (spec.isolated) ::syscall(SYS_close_range, 3U, UINT_MAX, kSetCloseOnExec);
#endif
  if (!spec.workdir.empty() && ::chdir(spec.workdir.c_str()) != 0) {
    report_and_exit(report_fd, {spec.rank, StartStage::enter, errno});
  }
  ::execvpe(process.argv[0], process.argv.data(), process.environment.data());
  report_and_exit(report_fd, {spec.rank, StartStage::execute, errno});
}

/// By vfork, which copies no page tables: a short run would spend a tenth of its time on them. All that the child needs was
/// made before; it stands apart so that nothing of its caller lives across the vfork.
[[gnu::noinline]] pid_t fork_program(const PreparedProcess& process, pid_t group, int null_fd, int report_fd) {
  const pid_t launcher = ::getpid();
  const pid_t pid = ::vfork();
  if (pid == 0) become_program(process, group, launcher, null_fd, report_fd);
  return pid;
}

std::string describe_report(const StartReport& report, const ProcessSpec& spec) {
  const bool execute = report.stage == StartStage::execute;
  return fmt::format("cannot {} {}: {}", execute ? "start" : "enter", execute ? spec.argv[0] : spec.workdir,
                     std::strerror(report.code));
}

void note_error(SpawnResult& result, int rank, const std::string& text) {
  if (!result.error || rank < result.error->rank) result.error = StartError{rank, text};
}

/// Ends when every process has closed the pipe: by exec or by death.
void read_reports(int fd, const std::vector<ProcessSpec>& specs, SpawnResult& result) {
  StartReport report{};
  while (true) {
    const ssize_t count = ::read(fd, &report, sizeof report);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof report) return;
    for (const ProcessSpec& spec : specs) {
      if (spec.rank == report.rank) note_error(result, spec.rank, describe_report(report, spec));
    }
  }
}

/// Starts one process; false, with the reason noted, if that failed.
bool start_process(const ProcessSpec& spec, int null_fd, int report_fd, SpawnResult& result) {
  PreparedProcess process{spec, pointers(spec.argv), pointers(spec.environment), Descriptor(), Descriptor()};
  for (const auto& [path, fd] : {std::pair{&spec.stdout_path, &process.output}, std::pair{&spec.stderr_path, &process.error}}) {
    if (path->empty()) continue;
    *fd = open_output(*path, spec.append);
    if (fd->get() >= 0) continue;
    note_error(result, spec.rank, fmt::format("cannot create {}: {}", *path, std::strerror(errno)));
    return false;
  }
  const double started_s = monotonic_s();
  const pid_t pid = fork_program(process, result.group, null_fd, report_fd);
  if (pid < 0) {
    note_error(result, spec.rank, fmt::format("cannot start {}: {}", spec.argv[0], std::strerror(errno)));
    return false;
  }
  if (result.group == 0) result.group = pid;
  ::setpgid(pid, result.group);  // both sides do it: whoever needs it first finds it done
  result.processes.push_back({spec.rank, pid, started_s});
  return true;
}

/// Descriptors 0, 1 and 2 must be open, or a file of ours would land there.
void fill_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
    ::fcntl(fd, F_SETFD, 0);
  }
}

}  // namespace

SpawnResult spawn_processes(const std::vector<ProcessSpec>& specs) {
  SpawnResult result;
  fill_standard_descriptors();
  const Descriptor null_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::array<int, 2> ends{-1, -1};
  if (null_fd.get() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    note_error(result, 0, fmt::format("cannot start processes: {}", std::strerror(errno)));
    return result;
  }
  const Descriptor reports(ends[0]);
  {
    const Descriptor report_fd(ends[1]);
    for (const ProcessSpec& spec : specs) {
      if (!start_process(spec, null_fd.get(), report_fd.get(), result)) break;
    }
  }
  read_reports(reports.get(), specs, result);
  return result;
}

}  // namespace hpcbench
