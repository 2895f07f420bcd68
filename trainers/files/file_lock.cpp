#include "files/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// The previous holder of a lock may have removed its name: then another process may hold a new file of that name.
bool has_name(int descriptor, const std::filesystem::path& path) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

void write_holder(int descriptor) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text = concat("process ", getpid(), " on ", host.data());
  if (ftruncate(descriptor, 0) == 0 && write(descriptor, text.data(), text.size()) < 0) return;  // only for people to read
}

std::string read_holder(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

}  // namespace

FileLock::FileLock(std::filesystem::path path, Taken taken) : path_(std::move(path)) {
  while (descriptor_ < 0) {
    const int descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return;
    int failed = 0;
    do {
      failed = flock(descriptor, taken == Taken::wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    } while (failed != 0 && errno == EINTR);
    if (failed != 0 && errno == EWOULDBLOCK) holder_ = read_holder(descriptor);
    const bool is_ours = failed == 0 && has_name(descriptor, path_);
    if (is_ours) descriptor_ = descriptor;
    if (!is_ours) close(descriptor);
    if (failed != 0) return;
  }
  write_holder(descriptor_);
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace hpcbench::train
