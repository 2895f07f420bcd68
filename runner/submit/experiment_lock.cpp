#include "submit/experiment_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "submit/owner_file.hpp"

namespace hpcbench {

namespace {

std::string lock_path(const std::string& results) { return results + "/lock"; }
std::string owner_path(const std::string& results) { return results + "/lock.owner"; }

bool is_held(int code) { return code == EAGAIN || code == EACCES; }
bool is_unsupported(int code) { return code == ENOLCK || code == EINVAL || code == EOPNOTSUPP || code == ENOSYS; }

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
  std::optional<OwnerFile> file;  // where the file system has no locks
};

ExperimentLock::ExperimentLock(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExperimentLock::~ExperimentLock() = default;
ExperimentLock::ExperimentLock(ExperimentLock&&) noexcept = default;
ExperimentLock& ExperimentLock::operator=(ExperimentLock&&) noexcept = default;

std::optional<ExperimentLock> ExperimentLock::try_acquire(const std::string& results, std::string* owner) {
  make_folders(results);
  const std::string path = lock_path(results);
  // CLOEXEC: a job that inherited the description would keep the lock.
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0) throw UnavailableError(fmt::format("error: cannot open {}: {}", path, std::strerror(errno)));
  const int code = lock_description(fd.get());
  auto impl = std::make_unique<Impl>();
  if (is_held(code)) {
    if (owner != nullptr) *owner = describe_owner(read_file_if_there(path).value_or(""));
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
    // Only for people and for the message of whoever waits: a full disk must not matter here.
    const std::string text = owner_text(this_process());
    if (::ftruncate(fd.get(), 0) == 0) {
      [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), text.data(), text.size(), 0);
    }
  }
  impl->lock = std::move(fd);
  return ExperimentLock(std::move(impl));
}

std::optional<std::string> experiment_owner(const std::string& results) {
  const std::string path = lock_path(results);
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  struct flock found {};
  found.l_type = F_WRLCK;
  found.l_whence = SEEK_SET;
  if (::fcntl(fd.get(), F_OFD_GETLK, &found) == 0) {
    if (found.l_type == F_UNLCK) return std::nullopt;
    return describe_owner(read_file_if_there(path).value_or(""));
  }
  const std::optional<std::string> text = read_file_if_there(owner_path(results));
  if (!text) return std::nullopt;
  const auto process = parse_owner(*text);
  // Of another host nothing is known: its word stands.
  if (process && !is_alive(*process).value_or(true)) return std::nullopt;
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
