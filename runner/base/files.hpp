#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// The bytes of a file; UnavailableError if it cannot be read.
std::string read_file(const std::filesystem::path& path);
/// The same; absent if there is no such file. Any other failure is an UnavailableError.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path);
/// At most the last `limit` bytes of a file, empty if it cannot be read.
std::string read_tail(const std::filesystem::path& path, std::size_t limit);

/// Writes a temporary file beside `path` and renames it, so that a reader sees the old or the new content, never a part.
/// `durable` also fsyncs the file and its folder. UnavailableError names the path and the cause (full disk, read-only ...).
enum class Durability { none, durable };
void write_file(const std::filesystem::path& path, std::string_view content, Durability durability);

/// Creates `path` with O_CREAT|O_EXCL and writes `content`, durably. False if it exists already.
bool create_exclusively(const std::filesystem::path& path, std::string_view content);

/// syncfs of the file system that holds `path`: one call makes a whole batch durable.
void sync_file_system(const std::filesystem::path& path);

/// create_directories with an UnavailableError that gives the reason.
void make_folders(const std::filesystem::path& path);

/// A new folder where temporary files go (TMPDIR, else /tmp), its name beginning with `name`. UnavailableError with the reason.
std::string make_temporary_folder(const std::string& name);

/// What the standard library says of a file or folder that cannot be used, as UnavailableError says it.
std::string describe(const std::filesystem::filesystem_error& error);

/// An open file descriptor, closed at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

}  // namespace hpcbench
