#include "files/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kUnfinished = ".tmp-";

}  // namespace

std::filesystem::path unfinished_path(const std::filesystem::path& path) {
  return concat(path.string(), kUnfinished, getpid());
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : goal_(path) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    name_ = concat(unfinished_path(goal_).string(), "-", attempt);  // other hosts may share the folder, hence O_EXCL
    descriptor_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  fail();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!renamed_) unlink(name_.c_str());
}

void AtomicFile::write_at(std::uint64_t place, std::span<const std::byte> bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 26;
  while (!bytes.empty()) {
    const ssize_t done = pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kChunk), static_cast<off_t>(place));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail();
    place += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::finish() {
  if (fsync(descriptor_) != 0) fail();
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) fail();
  if (rename(name_.c_str(), goal_.c_str()) != 0) fail();
  renamed_ = true;
  const std::filesystem::path folder = goal_.has_parent_path() ? goal_.parent_path() : std::filesystem::path(".");
  const int folder_descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor < 0) return;  // the file is complete; only its name might not survive a power cut
  fsync(folder_descriptor);
  close(folder_descriptor);
}

void AtomicFile::fail() const { throw DataError(concat("error: cannot write ", goal_.string(), ": ", std::strerror(errno))); }

void write_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts) {
  AtomicFile file(path);
  std::uint64_t place = 0;
  for (const std::span<const std::byte> part : parts) {
    file.write_at(place, part);
    place += part.size();
  }
  file.finish();
}

void write_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  write_atomically(path, std::span(&bytes, 1));
}

void remove_unfinished(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end; place.increment(error)) {
    if (place->path().filename().string().find(kUnfinished) != std::string::npos) found.push_back(place->path());
  }
  for (const std::filesystem::path& path : found) std::filesystem::remove_all(path, error);
}

}  // namespace hpcbench::train
