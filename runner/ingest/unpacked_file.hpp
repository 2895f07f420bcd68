#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hpcbench {

/// Whether the name of a file says that it is packed: `.gz` or `.zst`.
inline bool is_packed(std::string_view path) { return path.ends_with(".gz") || path.ends_with(".zst"); }

/// The name without that ending: `metrics.csv` of `metrics.csv.gz`.
inline std::string_view unpacked_name(std::string_view name) {
  return is_packed(name) ? name.substr(0, name.rfind('.')) : name;
}

/// The bytes of an open file: as they are, or unpacked where its name ends in `.gz` or `.zst`. Total: damage, an early end and
/// more than 1 GiB of unpacked bytes end the reading with a problem that names the byte of the file.
class UnpackedFile {
 public:
  virtual ~UnpackedFile() = default;
  /// Bytes read, 0 at the end, negative where `problem` says why.
  virtual ssize_t read(char* into, std::size_t room) = 0;
  const std::string& problem() const { return problem_; }

 protected:
  std::string problem_;
};

/// `fd` stays the caller's.
std::unique_ptr<UnpackedFile> unpacked_file(std::string_view path, int fd);

}  // namespace hpcbench
