#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace hpcbench::train {

/// Holds a file of this name for one process, which it names; the lock goes with the process, and the file at the end. Where
/// the file system has no locks, or the folder cannot be written, nothing is held.
class FileLock {
 public:
  enum class Taken { wait, give_up };
  /// What to do where another process holds it.
  explicit FileLock(std::filesystem::path path, Taken taken);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool is_held() const { return descriptor_ >= 0; }
  /// `process 12 on host`, where another process holds it.
  const std::optional<std::string>& holder() const { return holder_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::optional<std::string> holder_;
};

}  // namespace hpcbench::train
