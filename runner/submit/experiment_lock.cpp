#include "submit/experiment_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "submit/owner_file.hpp"

namespace hpcbench {

namespace {

std::string lock_path(const std::string& results) { return results + "/lock"; }
std::string owner_path(const std::string& results) { return results + "/lock.owner"; }

bool is_held(int code) { return code == EAGAIN || code == EACCES; }
bool is_unsupported(int code) { return code == ENOLCK || code == EINVAL || code == EOPNOTSUPP || code == ENOSYS; }

constexpr double kSilenceS = 60;  // clocks of hosts may differ by some seconds

double seconds_since_change(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? unix_time_s() - static_cast<double>(status.st_mtim.tv_sec) : kSilenceS;
}

/// An open file description's lock: kept over threads and other closes of the same file, gone when the process is.
int lock_description(int fd) {
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &wanted) == 0 ? 0 : errno;
}

}  // namespace

struct ExperimentLock::Impl {
  Descriptor lock;
  std::optional<OwnerFile> file;  // for people, for hosts that the lock does not reach, and in place of a lock
  std::optional<Heartbeat> heartbeat;
};

ExperimentLock::ExperimentLock(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExperimentLock::~ExperimentLock() = default;
ExperimentLock::ExperimentLock(ExperimentLock&&) noexcept = default;
ExperimentLock& ExperimentLock::operator=(ExperimentLock&&) noexcept = default;

std::optional<ExperimentLock> ExperimentLock::try_acquire(const std::string& results, std::string* owner) {
  make_folders(results);
  const std::string path = lock_path(results);
  // CLOEXEC: a job that inherited the description would keep the lock.
  // For its owner alone to open: a reader's lock would keep the owner waiting.
  Descriptor fd = open_study_file(path, 0, kSecretFile);
  if (fd.get() < 0) throw UnavailableError(fmt::format("error: cannot open {}: {}", path, why_not_opened(errno)));
  ::fchmod(fd.get(), kSecretFile);
  const int code = lock_description(fd.get());
  auto impl = std::make_unique<Impl>();
  if (is_held(code)) {
    if (owner != nullptr) *owner = describe_owner(read_file_if_there(owner_path(results)).value_or(""));
    return std::nullopt;
  }
  if (is_unsupported(code)) {
    std::string text;
    impl->file = OwnerFile::try_acquire(owner_path(results), this_process(), &text);
    if (!impl->file && owner != nullptr) *owner = describe_owner(text);
    if (!impl->file) return std::nullopt;
  } else if (code != 0) {
    throw UnavailableError(fmt::format("error: cannot lock {}: {}", path, std::strerror(code)));
  } else {
    std::string text;
    try {
      impl->file = OwnerFile::try_follow_lock(owner_path(results), this_process(), 3 * kHeartbeatS, &text);
    } catch (const UnavailableError&) {
      text.clear();  // a full disk must not matter here
    }
    if (!impl->file && !text.empty()) {
      throw UnavailableError(
          fmt::format("error: {} is run by {}, although its lock is free: locks of this file system do not reach other hosts\n"
                      "  = wait for it, or interrupt it there (Ctrl-C), then call again",
                      results, describe_owner(text)));
    }
  }
  if (impl->file) impl->heartbeat.emplace(owner_path(results));
  impl->lock = std::move(fd);
  return ExperimentLock(std::move(impl));
}

std::optional<std::string> experiment_owner(const std::string& results) {
  const std::string path = lock_path(results);
  const std::optional<std::string> text = read_file_if_there(owner_path(results));
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));  // the owner's alone to open
  struct flock found {};
  found.l_type = F_WRLCK;
  found.l_whence = SEEK_SET;
  const bool tells = fd.get() >= 0 && ::fcntl(fd.get(), F_OFD_GETLK, &found) == 0;
  if (tells && found.l_type != F_UNLCK) return describe_owner(text.value_or(""));
  const auto process = parse_owner(text.value_or(""));
  if (!process || (tells && process->host == host_name())) return std::nullopt;
  // Of another host nothing is known but its signs of life.
  if (!is_alive(*process).value_or(seconds_since_change(owner_path(results)) < kSilenceS)) return std::nullopt;
  return describe_owner(*text);
}

bool break_lock(const std::string& results) {
  const std::string path = owner_path(results);
  const std::optional<std::string> text = read_file_if_there(path);
  if (!text) return false;
  const auto process = parse_owner(*text);
  if (process && is_alive(*process).value_or(false)) {
    throw UnavailableError(fmt::format("error: {} holds {} and runs: end it first", describe_owner(*text), path));
  }
  return ::unlink(path.c_str()) == 0;
}

}  // namespace hpcbench
