#include "base/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/process/v1/args.hpp>
#include <boost/process/v1/child.hpp>
#include <boost/process/v1/error.hpp>
#include <boost/process/v1/exe.hpp>
#include <boost/process/v1/extend.hpp>
#include <boost/process/v1/posix.hpp>
#else
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
#endif
#include <cerrno>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

#if BOOST_VERSION >= 108600
namespace process = boost::process::v1;
#else
namespace process = boost::process;
#endif

constexpr long kShortestPauseNs = 500'000;  // between polls of a tool that is running: Slurm's tools take some milliseconds
constexpr long kLongestPauseNs = 20'000'000;
constexpr std::size_t kLongestToolText = 400;  // bytes of a tool's output in a message
constexpr std::size_t kReadBytes = 1 << 16;

// ---- Files of a tool ---------------------------------------------------------------------------------------------------

/// Returns a descriptor above 2: 0, 1 or 2 may be closed here, and in the child a standard descriptor would overwrite it.
Descriptor above_standard(int fd) {
  const Descriptor low(fd);
  return Descriptor(low.get() < 0 ? -1 : ::fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

/// Creates a file in memory for a tool to read or write: unlike a pipe it never fills up and never causes SIGPIPE.
Descriptor memory_file(const char* name) { return above_standard(::memfd_create(name, MFD_CLOEXEC)); }

/// Opens standard input: /dev/null, or a file in memory that holds `text`.
Descriptor input_file(const std::string& text) {
  if (text.empty()) return above_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor file = memory_file("input");
  std::size_t done = 0;
  while (file.get() >= 0 && done < text.size()) {
    const ssize_t count = ::pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Descriptor();
    done += static_cast<std::size_t>(count);
  }
  return file;
}

std::size_t size_of(const Descriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

std::string content_of(const Descriptor& file, std::size_t most_bytes) {
  std::string text;
  std::array<char, kReadBytes> part{};
  while (text.size() < most_bytes) {
    const std::size_t wanted = std::min(part.size(), most_bytes - text.size());
    const ssize_t count = ::pread(file.get(), part.data(), wanted, static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// The open files of a tool; the last two are captured. -1: none.
struct ToolFiles {
  Descriptor folder, input, output, errors;

  int output_fd(const ToolCall& call) const { return call.output_fd >= 0 ? call.output_fd : output.get(); }
  int errors_fd(const ToolCall& call) const { return call.output_fd >= 0 ? call.output_fd : errors.get(); }
};

ToolResult not_started(int error, std::string_view what) {
  return {ToolResult::Kind::not_started, error, {}, fmt::format("{}: {}", what, std::strerror(error))};
}

/// Opens the files. Returns nullopt if all are open; otherwise why the tool cannot be started.
std::optional<ToolResult> open_files(const ToolCall& call, ToolFiles& files) {
  if (!call.folder.empty()) {
    // Opened before the fork: a failure in the child could not be distinguished from a failure of the tool.
    files.folder = above_standard(::open(call.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (files.folder.get() < 0 || ::access(call.folder.c_str(), X_OK) != 0) return not_started(errno, call.folder);
  }
  files.input = input_file(call.input);
  if (files.input.get() < 0) return not_started(errno, "no file for its input");
  if (call.output_fd >= 0) return std::nullopt;
  files.output = memory_file("output");
  files.errors = memory_file("errors");
  if (files.output.get() < 0 || files.errors.get() < 0) return not_started(errno, "no file in memory");
  return std::nullopt;
}

// ---- Start and end -----------------------------------------------------------------------------------------------------

/// Blocks signals so that no handler of this process runs in the child between fork and exec.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

/// Also closes at exec the descriptors without CLOEXEC that libraries open or that this process inherited.
void close_others_at_exec() {
#ifdef SYS_close_range
  constexpr unsigned kSetCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (::syscall(SYS_close_range, STDERR_FILENO + 1U, UINT_MAX, kSetCloseOnExec) == 0) return;
#endif
  // Kernels before 5.11 lack this call.
  const long limit = std::min(::sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = STDERR_FILENO + 1; fd < limit; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void reset_signals_of_tool() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGXFSZ, SIGUSR1, SIGUSR2}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Boost.Process calls this in the child before exec, and here if exec fails. Only async-signal-safe calls.
struct ToolSetup : process::extend::handler {
  const ToolCall& call;
  const ToolFiles& files;
  char** environment;
  ToolSetup(const ToolCall& the_call, const ToolFiles& the_files, char** the_environment)
      : call(the_call), files(the_files), environment(the_environment) {}

  template <typename Executor>
  void on_setup(Executor& executor) const {
    executor.env = environment;
  }
  template <typename Executor>
  void on_exec_setup(Executor& /*executor*/) const {
    if (call.own_session) ::setsid();
    if (files.folder.get() >= 0 && ::fchdir(files.folder.get()) != 0) ::_exit(127);
    close_others_at_exec();
    reset_signals_of_tool();
  }
  template <typename Executor>
  void on_error(Executor& executor, const std::error_code& /*error*/) const {
    if (executor.pid <= 0) return;
    while (::waitpid(executor.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
};

/// Returns the environment as exec takes it: pointers into `entries`, which must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the tool and returns its pid; 0 and `error` if that failed.
pid_t start_tool(const std::string& program, const ToolCall& call, const ToolFiles& files, std::error_code& error) {
  std::vector<std::string> entries = changed_environment(own_environment(), call.environment);
  std::vector<char*> environment = pointers_to(entries);
  const std::vector<std::string> arguments(call.argv.begin() + 1, call.argv.end());
  const BlockedSignals blocked;
  process::child child(
      process::exe = program, process::args = arguments, process::posix::fd.bind(STDIN_FILENO, files.input.get()),
      process::posix::fd.bind(STDOUT_FILENO, files.output_fd(call)),
      process::posix::fd.bind(STDERR_FILENO, files.errors_fd(call)), ToolSetup(call, files, environment.data()), error);
  if (error) return 0;
  const pid_t pid = child.id();
  child.detach();  // wait_for_tool waits
  return pid;
}

struct ToolEnd {
  bool known = false;  // `status` is that of waitpid
  bool late = false;   // the tool was killed for its time limit
  bool too_long = false;
  int status = 0;
};

/// Returns whether the tool has printed that it is waiting for something itself.
bool says_it_waits(const ToolCall& call, const ToolFiles& files) {
  return !call.waiting_word.empty() && content_of(files.errors, call.most_bytes).find(call.waiting_word) != std::string::npos;
}

/// Waits for the process until `end_s`, as long as it keeps within its bytes; then kills it and its whole session.
ToolEnd wait_for_tool(pid_t pid, double end_s, const ToolCall& call, const ToolFiles& files) {
  const bool unlimited = call.output_fd >= 0 && std::isinf(end_s);
  bool waits = false;
  ToolEnd end;
  long pause_ns = kShortestPauseNs;
  while (true) {
    const bool only_waits = unlimited || end.late || end.too_long;
    const pid_t reaped = ::waitpid(pid, &end.status, only_waits ? 0 : WNOHANG);
    if (reaped < 0 && errno == EINTR) continue;
    end.known = reaped == pid;
    end.too_long = end.too_long || size_of(files.output) > call.most_bytes || size_of(files.errors) > call.most_bytes;
    if (reaped != 0) return end;
    if (!waits && monotonic_s() >= end_s && says_it_waits(call, files)) {
      waits = true;
      end_s += call.waiting_s;
    }
    end.late = !end.too_long && monotonic_s() >= end_s;
    if (end.late || end.too_long) {
      ::kill(call.own_session ? -pid : pid, SIGKILL);
      continue;
    }
    const timespec pause{0, pause_ns};
    ::nanosleep(&pause, nullptr);
    pause_ns = std::min(pause_ns * 2, kLongestPauseNs);
  }
}

ToolResult::Kind kind_of(const ToolEnd& end) {
  if (end.late) return ToolResult::Kind::timed_out;
  if (end.too_long) return ToolResult::Kind::too_long;
  if (!end.known) return ToolResult::Kind::unknown;
  return WIFSIGNALED(end.status) ? ToolResult::Kind::killed : ToolResult::Kind::exited;
}

/// Restores SIGCHLD: if the parent had told the kernel to discard ended children, no tool's status could be read.
void keep_ends_of_children() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

/// Joins the text's lines into one and drops those without content.
std::string one_line_of(std::string_view text) {
  std::string line;
  for (const std::string& part : split(text, '\n')) {
    if (trim(part).empty()) continue;
    if (!line.empty()) line += "; ";
    line += trim(part);
  }
  if (line.size() > kLongestToolText) line = line.substr(0, kLongestToolText) + "...";
  return line;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

ToolResult run_tool(const ToolCall& call) {
  if (call.argv.empty()) return not_started(ENOENT, "no program");
  const bool zero_byte =
      std::any_of(call.argv.begin(), call.argv.end(), [](const auto& text) { return text.find('\0') != text.npos; });
  if (zero_byte) return not_started(EINVAL, call.argv.front() + ": an argument holds a zero byte");
  const std::string& name = call.argv.front();
  const std::optional<std::string> found = find_program(name);
  // A path always goes to exec: it may be relative to the tool's folder, and exec reports why it cannot be executed.
  if (!found && name.find('/') == std::string::npos) return not_started(ENOENT, name);
  keep_ends_of_children();
  ToolFiles files;
  if (std::optional<ToolResult> problem = open_files(call, files)) return *problem;
  const double begin_s = monotonic_s();
  std::error_code error;
  const pid_t pid = start_tool(found.value_or(name), call, files, error);
  if (pid == 0) return not_started(error.value(), name);
  const ToolEnd end = wait_for_tool(pid, begin_s + call.timeout_s, call, files);
  ToolResult result;
  result.kind = kind_of(end);
  if (result.kind == ToolResult::Kind::exited) result.status = WEXITSTATUS(end.status);
  if (result.kind == ToolResult::Kind::killed) result.status = WTERMSIG(end.status);
  log_debug(fmt::format("process {} was {}: {}", pid, join(call.argv, " "), describe(result)));
  result.output = content_of(files.output, call.most_bytes);
  result.errors = content_of(files.errors, call.most_bytes);
  return result;
}

std::string describe(const ToolResult& result) {
  const std::string said = one_line_of(result.errors + "\n" + result.output);
  const std::string words = said.empty() ? "" : ": " + said;
  switch (result.kind) {
    case ToolResult::Kind::exited:
      return fmt::format("exit status {}{}", result.status, words);
    case ToolResult::Kind::killed:
      return fmt::format("killed by signal {} ({}){}", result.status, ::strsignal(result.status), words);
    case ToolResult::Kind::timed_out:
      return "no answer in time" + words;
    case ToolResult::Kind::not_started:
      return "cannot be started" + words;
    case ToolResult::Kind::too_long:
      return "its answer is too long" + words;
    case ToolResult::Kind::unknown:
      return "how it ended is not known" + words;
  }
  return words;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace hpcbench
