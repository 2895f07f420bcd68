#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/error.hpp"
#include "base/host.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(std::string_view action, const fs::path& path, int code) {
  throw UnavailableError(fmt::format("error: cannot {} {}: {}", action, path.string(), std::strerror(code)));
}

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename is then as durable as the file system allows.
  if (fd.get() >= 0) ::fsync(fd.get());
}

/// Returns 0, or an errno.
int make_folder(const fs::path& path, unsigned mode) {
  for (bool again : {true, false}) {
    if (path.empty() || ::mkdir(path.c_str(), mode) == 0) return 0;
    const int code = errno;
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) return 0;
    if (code != ENOENT || !again) return code == EEXIST ? ENOTDIR : code;
    if (const int above = make_folder(path.parent_path(), mode); above != 0) return above;
  }
  return 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

std::optional<std::string> read_file_if_there(const fs::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail("read", path, errno);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
  std::string content;
  // Reads one byte beyond the size: /proc and pipes have no size, and files may grow.
  std::size_t used = 0;
  constexpr std::size_t kUnknownSize = 4096;
  content.resize(status.st_size > 0 ? static_cast<std::size_t>(status.st_size) + 1 : kUnknownSize);
  while (true) {
    if (used == content.size()) content.resize(content.size() * 2);
    const ssize_t count = ::read(fd.get(), content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
  }
  content.resize(used);
  return content;
}

std::string read_file(const fs::path& path) {
  std::optional<std::string> content = read_file_if_there(path);
  if (!content) fail("read", path, ENOENT);
  return *std::move(content);
}

std::string read_tail(const fs::path& path, std::size_t limit) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t begin = size > limit ? size - limit : 0;
  std::string content(size - begin, '\0');
  const ssize_t count = ::pread(fd.get(), content.data(), content.size(), static_cast<off_t>(begin));
  content.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return content;
}

Descriptor open_study_file(const fs::path& path, int flags, unsigned mode) {
  const int to_open = (flags & ~O_TRUNC) | O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
  Descriptor fd(::open(path.c_str(), to_open, mode));
  if (fd.get() < 0) {
    if (errno == ENXIO) errno = ELOOP;  // a pipe without a reader
    return fd;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return Descriptor();
  if (!S_ISREG(status.st_mode)) {
    errno = ELOOP;
    return Descriptor();
  }
  ::fcntl(fd.get(), F_SETFL, flags & O_APPEND);
  if ((flags & O_TRUNC) != 0 && status.st_size > 0 && ::ftruncate(fd.get(), 0) != 0) return Descriptor();
  return fd;
}

std::string why_not_opened(int code) {
  return code == ELOOP ? "it is a link or no plain file, and hpcbench follows no links there: remove it" : std::strerror(code);
}

void write_file(const fs::path& path, std::string_view content, Durability durability, unsigned mode) {
  const fs::path temporary = path.string() + "." + random_hex(16) + ".tmp";
  try {
    const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (fd.get() < 0) fail("write", path, errno);
    write_all(fd.get(), content, path);
    if (durability == Durability::durable && ::fsync(fd.get()) != 0) fail("write", path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("write", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durability == Durability::durable) sync_folder(path.parent_path());
}

bool create_exclusively(const fs::path& path, std::string_view content, unsigned mode) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (fd.get() < 0) {
    if (errno == EEXIST) return false;
    fail("create", path, errno);
  }
  // A failure from here on leaves the file behind on purpose: an empty file counts as taken.
  write_all(fd.get(), content, path);
  if (::fsync(fd.get()) != 0) fail("write", path, errno);
  sync_folder(path.parent_path());
  return true;
}

void sync_file_system(const fs::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::syncfs(fd.get()) != 0) fail("sync", path, errno);
}

std::string copy_contents(const fs::path& from, const fs::path& to) {
  constexpr std::size_t kChunk = 1 << 20;
  try {
    const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (source.get() < 0) return std::strerror(errno);
    const Descriptor target = open_study_file(to, O_TRUNC);
    if (target.get() < 0) return why_not_opened(errno);
    std::string chunk(kChunk, '\0');
    while (true) {
      const ssize_t count = ::read(source.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return std::strerror(errno);
      if (count == 0) return "";
      write_all(target.get(), std::string_view(chunk).substr(0, static_cast<std::size_t>(count)), to);
    }
  } catch (const UnavailableError& problem) {
    return problem.what();
  }
}

void make_folders(const fs::path& path, unsigned mode) {
  const int code = make_folder(path.has_filename() ? path : path.parent_path(), mode);
  if (code != 0) throw UnavailableError(fmt::format("error: cannot create folder {}: {}", path.string(), std::strerror(code)));
}

bool is_own(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  if (status.st_uid == ::geteuid()) return true;
  // Some file systems assign one owner to all files: a new file then has the same owner.
  const fs::path parent = S_ISDIR(status.st_mode) ? path : path.parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  Descriptor fd(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (fd.get() < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    const fs::path probe = folder / (".hpcbench-owner-" + random_hex(16));
    fd = Descriptor(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd.get() >= 0) ::unlink(probe.c_str());
  }
  struct stat ours {};
  return fd.get() >= 0 && ::fstat(fd.get(), &ours) == 0 && ours.st_uid == status.st_uid;
}

bool is_own_alone(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) return false;
  return (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && is_own(path);
}

std::string make_temporary_folder(const std::string& name) {
  const char* const said = std::getenv("TMPDIR");
  const fs::path place = said != nullptr && *said != '\0' ? fs::path(said) : fs::path("/tmp");
  std::string folder = (place / (name + "XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr) {
    throw UnavailableError(fmt::format("error: cannot create a temporary folder in {}: {}\n  = TMPDIR names another place",
                                       place.string(), std::strerror(errno)));
  }
  return folder;
}

ScopedFolder::~ScopedFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string describe(const fs::filesystem_error& error) {
  std::error_code gone;
  static_cast<void>(fs::current_path(gone));
  if (gone) {
    return fmt::format(
        "error: the folder in which hpcbench was called cannot be used: {}\n  = change to another one, and call again",
        gone.message());
  }
  return fmt::format("error: cannot use {}: {}", error.path1().string(), error.code().message());
}

}  // namespace hpcbench
