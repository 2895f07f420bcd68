#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace hpcbench::train {

/// Holds a file of this name for one process and writes the process into it; the lock ends with the process, and the destructor
/// removes the file. If the file system has no locks, or the folder cannot be written, nothing is held.
class FileLock {
 public:
  enum class Taken { wait, give_up };
  /// `taken`: what to do if another process holds it.
  explicit FileLock(std::filesystem::path path, Taken taken);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool is_held() const { return descriptor_ >= 0; }
  /// Returns `process 12 on host` if another process holds it.
  const std::optional<std::string>& holder() const { return holder_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::optional<std::string> holder_;
};

}  // namespace hpcbench::train
