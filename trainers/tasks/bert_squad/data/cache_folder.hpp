#pragma once

#include <filesystem>
#include <string>

#include "files/file_lock.hpp"

namespace hpcbench::train {

/// An open file descriptor, closed at the end.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Holds FILE.lock, so that one process at a time makes FILE; the lock goes with the process, and its file at the end. Where
/// the file system has no locks, nothing is held, and processes make the same file side by side.
class CacheLock {
 public:
  explicit CacheLock(const std::filesystem::path& file);  // waits

 private:
  FileLock lock_;
};

/// A file under construction beside its later place: seen under its name only when it is whole.
class FileInTheMaking {
 public:
  /// FeatureFileError where the folder cannot be made or written.
  explicit FileInTheMaking(const std::filesystem::path& file);
  ~FileInTheMaking();  // removes what was not published
  FileInTheMaking(const FileInTheMaking&) = delete;
  FileInTheMaking& operator=(const FileInTheMaking&) = delete;

  int descriptor() const { return descriptor_.get(); }
  /// FeatureFileError where that fails.
  void publish();

 private:
  std::filesystem::path file_;
  std::string temporary_;
  OwnedDescriptor descriptor_;
  bool is_published_ = false;
};

/// A file without a name, in the system's folder for temporary files or else in memory. FeatureFileError where there is none.
OwnedDescriptor anonymous_file();

}  // namespace hpcbench::train
