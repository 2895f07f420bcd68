#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "study/last_run.hpp"

namespace hpcbench {

/// study.tar.zst: a tar file (archive/tar.hpp), compressed with zstd, that contains
/// everything for a report (docs/export.md):
///     archive.json        first: the kind of archive, and the amount of its content
///     study/FILE.yaml     the experiment file as it was read
///     sites/SITE.yaml     the site that it was read with
///     results/...         run directories of the experiment, and the files
///     that `import` names
struct ArchiveHead {
  LastRun study;  // `file` and `site` are paths in the archive:
                  // `study/FILE.yaml`, `sites/SITE.yaml`
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of all files after archive.json
};

/// A file of an archive: read from disk, or from memory if `content` is
/// given.
struct ArchiveFile {
  std::string path;    // in the archive
  std::string source;  // on disk; empty: `content`
  std::string content;
  std::uint64_t size = 0;
  bool executable = false;
};

/// Writes `out` completely or not at all. The same files give the same bytes. A file
/// that grows is cut at `size`; UnavailableError for a file that shrinks or cannot be
/// read.
void write_archive(const std::string& out, const LastRun& study, std::vector<ArchiveFile> files);

/// Unpacks the whole archive, or nothing, into `folder`, which must be missing or empty. InputError for a
/// file that is no archive of hpcbench or is damaged; for paths that are absolute, contain `..` or
/// control characters, or occur twice; for anything but plain files (links, devices); for more content
/// than the head declares, or more than `limit_bytes`. Returns the head with the paths of the unpacked
/// files.
ArchiveHead unpack_archive(const std::string& archive, const std::string& folder, std::uint64_t limit_bytes);

/// An archive unpacked into a temporary folder, which is removed at the end of the
/// scope.
class TemporaryArchive {
 public:
  TemporaryArchive(const std::string& archive, std::uint64_t limit_bytes);
  /// Returns the results folder, for commands without FILE.
  std::string results() const { return folder_.path() + "/archive/results"; }

 private:
  ScopedFolder folder_;
};

constexpr std::uint64_t kGigabyte = 1'000'000'000;
constexpr std::uint64_t kArchiveLimitGb = 20;  // maximum unpacked size by default

}  // namespace hpcbench
