#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "study/last_run.hpp"

namespace hpcbench {

/// study.tar.zst: a tar file (archive/tar.hpp), compressed with zstd, that holds
/// what a report is made of (docs/export.md):
///     archive.json        first: what it is, and how much follows
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

/// A file that goes into an archive: from the disk, or with `content` from
/// memory.
struct ArchiveFile {
  std::string path;    // in the archive
  std::string source;  // on disk; empty: `content`
  std::string content;
  std::uint64_t size = 0;
  bool executable = false;
};

/// Writes `out`, whole or not at all. The same files give the same bytes. A
/// file that grows is cut at `size`; one that shrinks or cannot be read is an
/// UnavailableError.
void write_archive(const std::string& out, const LastRun& study, std::vector<ArchiveFile> files);

/// Unpacks into `folder`, which must not be there or be empty: all of it or
/// nothing. Refused as InputError: what is no archive of hpcbench or damaged;
/// paths that are absolute, hold `..` or control characters, or come twice;
/// anything but plain files (links, devices); more than the head says; more
/// than `limit_bytes`. Returns the head with the paths of the unpacked files.
ArchiveHead unpack_archive(const std::string& archive, const std::string& folder, std::uint64_t limit_bytes);

/// An archive unpacked into a temporary folder, which is removed at the end of
/// the scope.
class TemporaryArchive {
 public:
  TemporaryArchive(const std::string& archive, std::uint64_t limit_bytes);
  ~TemporaryArchive();
  TemporaryArchive(const TemporaryArchive&) = delete;
  TemporaryArchive& operator=(const TemporaryArchive&) = delete;
  /// The results folder, for commands without FILE.
  std::string results() const { return folder_ + "/archive/results"; }

 private:
  std::string folder_;
};

constexpr std::uint64_t kGigabyte = 1'000'000'000;
constexpr std::uint64_t kArchiveLimitGb = 20;  // unpacked, unless said otherwise

}  // namespace hpcbench
