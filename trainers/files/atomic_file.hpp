#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace hpcbench::train {

/// Returns the name under which this process writes a file before renaming it to `path`: beside it, recognised by
/// remove_unfinished().
std::filesystem::path unfinished_path(const std::filesystem::path& path);

/// A file that is whole or absent: written under a temporary name beside `path`, and renamed by finish(); without finish() it
/// is removed. DataError, with the system's reason, if it cannot be written.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write_at(std::uint64_t place, std::span<const std::byte> bytes);
  /// Calls fsync, then renames the file.
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path goal_;
  std::string name_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

/// Writes the parts in order to a file that is whole or absent: under a temporary name beside `path`, fsync, rename. DataError,
/// with the system's reason, if it cannot be written; then no temporary file is left.
void write_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

/// Removes unfinished files of killed processes from a folder in which no other process writes.
void remove_unfinished(const std::filesystem::path& folder);

}  // namespace hpcbench::train
