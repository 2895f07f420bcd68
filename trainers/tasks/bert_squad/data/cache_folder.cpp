#include "tasks/bert_squad/data/cache_folder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tasks/bert_squad/data/feature_file.hpp"

namespace hpcbench::train {

namespace {

constexpr std::size_t kUniqueCharacters = 6;  // length of the suffix of a name that mkostemp replaces

std::string unique_name(const std::string& begin) { return begin + std::string(kUniqueCharacters, 'X'); }

/// Removes files of processes that ended while they made this one. Only for the holder of the lock.
void remove_leftovers(const std::filesystem::path& file) {
  const std::string begin = file.filename().string() + ".";
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), none)) {
    const std::string name = entry.path().filename().string();
    const bool is_unfinished = name.size() == begin.size() + kUniqueCharacters;
    if (is_unfinished && name.starts_with(begin)) ::unlink(entry.path().c_str());
  }
}

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OwnedDescriptor::OwnedDescriptor(OwnedDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

CacheLock::CacheLock(const std::filesystem::path& file) : lock_(file.string() + ".lock", FileLock::Taken::wait) {
  if (lock_.is_held()) remove_leftovers(file);
}

FileInTheMaking::FileInTheMaking(const std::filesystem::path& file)
    : file_(file), temporary_(unique_name(file.string() + ".")) {
  descriptor_ = OwnedDescriptor(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (!descriptor_) throw FeatureFileError(std::strerror(errno));
}

FileInTheMaking::~FileInTheMaking() {
  if (!is_published_) ::unlink(temporary_.c_str());
}

void FileInTheMaking::publish() {
  const mode_t mask = ::umask(0);  // mkostemp makes it for this user alone, but a cache may be shared
  ::umask(mask);
  ::fchmod(descriptor_.get(), 0666 & ~mask);
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) throw FeatureFileError(std::strerror(errno));
  is_published_ = true;
}

OwnedDescriptor anonymous_file() {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  if (!none) {
    OwnedDescriptor unnamed(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (unnamed) return unnamed;
    std::string name = unique_name((folder / "hpcbench-features.").string());
    OwnedDescriptor named(::mkostemp(name.data(), O_CLOEXEC));
    if (named) {
      ::unlink(name.c_str());
      return named;
    }
  }
  OwnedDescriptor in_memory(::memfd_create("hpcbench-features", MFD_CLOEXEC));
  if (!in_memory) throw FeatureFileError(std::strerror(errno));
  return in_memory;
}

}  // namespace hpcbench::train
