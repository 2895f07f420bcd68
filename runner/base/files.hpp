#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// Returns the bytes of a file; UnavailableError if it cannot be read.
std::string read_file(const std::filesystem::path& path);
/// Like read_file, but nullopt if the file does not exist. Any other failure is an UnavailableError.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path);
/// Returns at most the last `limit` bytes of a file; empty if it cannot be read.
std::string read_tail(const std::filesystem::path& path, std::size_t limit);

// Modes of new files and folders, before the umask. Only the owner may write the files of a study; files that the user names
// follow the umask alone.
inline constexpr unsigned kStudyFile = 0644;
inline constexpr unsigned kSecretFile = 0600;  // a lock, so that no reader can hold it
inline constexpr unsigned kStudyFolder = 0755;
inline constexpr unsigned kUserFile = 0666;
inline constexpr unsigned kUserFolder = 0777;

/// Writes a temporary file beside `path`, with a name that cannot be predicted, and renames it, so that a reader sees the old
/// or the new content, never a part. A link at `path` is replaced, not followed.
/// `durable` also fsyncs the file and its folder. UnavailableError names the path and the cause (full disk, read-only ...).
enum class Durability { none, durable };
void write_file(const std::filesystem::path& path, std::string_view content, Durability durability, unsigned mode = kStudyFile);

/// Creates `path` with O_CREAT|O_EXCL and writes `content`, durably. False if it exists already.
bool create_exclusively(const std::filesystem::path& path, std::string_view content, unsigned mode = kStudyFile);

/// Copies the bytes of a file, without its permissions. Returns why that failed; empty if it did not.
std::string copy_contents(const std::filesystem::path& from, const std::filesystem::path& to);

/// Calls syncfs for the file system that holds `path`: one call makes a whole batch durable.
void sync_file_system(const std::filesystem::path& path);

/// Creates the folder and its missing parents. UnavailableError with the reason.
void make_folders(const std::filesystem::path& path, unsigned mode = kStudyFolder);

/// Returns whether this user owns the file or folder itself (not the target of a link), as far as its file system distinguishes
/// owners. False if it does not exist.
bool is_own(const std::filesystem::path& path);
/// Returns whether is_own() holds and no other user can write it.
bool is_own_alone(const std::filesystem::path& path);

/// Creates a folder in TMPDIR, else /tmp, whose name begins with `name`; returns its path. UnavailableError with the reason.
std::string make_temporary_folder(const std::string& name);

/// A new temporary folder, removed at the end of the scope.
class ScopedFolder {
 public:
  explicit ScopedFolder(const std::string& name) : path_(make_temporary_folder(name)) {}
  ~ScopedFolder();
  ScopedFolder(const ScopedFolder&) = delete;
  ScopedFolder& operator=(const ScopedFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Returns the message of an UnavailableError for an error of the standard library.
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

/// Opens a file of a study for writing and creates it if it does not exist; `flags` as of open(2): O_APPEND, O_EXCL, O_TRUNC.
/// Follows no link and never waits for a pipe. Returns -1 and sets errno on failure: ELOOP for anything but a plain file.
Descriptor open_study_file(const std::filesystem::path& path, int flags, unsigned mode = kStudyFile);
/// Describes errno after open_study_file failed.
std::string why_not_opened(int code);

}  // namespace hpcbench
