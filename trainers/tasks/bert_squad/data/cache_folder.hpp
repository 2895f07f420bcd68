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

/// Holds FILE.lock, so that one process at a time makes FILE; the lock ends with the process, and the destructor removes the
/// lock's file. On a file system without locks nothing is held, and processes make the same file side by side.
class CacheLock {
 public:
  explicit CacheLock(const std::filesystem::path& file);  // waits

 private:
  FileLock lock_;
};

/// A file under construction beside its later place: it gets its name only when it is whole.
class FileInTheMaking {
 public:
  /// FeatureFileError if the folder cannot be made or written.
  explicit FileInTheMaking(const std::filesystem::path& file);
  ~FileInTheMaking();  // removes a file that was not published
  FileInTheMaking(const FileInTheMaking&) = delete;
  FileInTheMaking& operator=(const FileInTheMaking&) = delete;

  int descriptor() const { return descriptor_.get(); }
  /// FeatureFileError if that fails.
  void publish();

 private:
  std::filesystem::path file_;
  std::string temporary_;
  OwnedDescriptor descriptor_;
  bool is_published_ = false;
};

/// Returns a file without a name, in the system's folder for temporary files or else in memory. FeatureFileError if neither is
/// possible.
OwnedDescriptor anonymous_file();

}  // namespace hpcbench::train
