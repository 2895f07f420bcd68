#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "archive/archive.hpp"
#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kReadPiece = 1U << 17U;
constexpr std::uint64_t kLargestHead = 1U << 20U;  // archive.json, pax records
constexpr int kLargestWindowLog = 27;              // zstd: 128 MiB of memory at most

[[noreturn]] void refuse_archive(const std::string& why) { throw InputError("error: not an archive of hpcbench: " + why); }

/// Reads the bytes of a zstd file in order.
class ZstdReader {
 public:
  explicit ZstdReader(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_.get() < 0) throw UnavailableError(fmt::format("error: cannot read {}: {}", path, std::strerror(errno)));
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
  }

  /// Reads exactly `size` bytes.
  void read(char* into, std::size_t size) {
    while (size > 0) {
      if (begin_ == end_) refill();
      if (begin_ == end_) refuse_archive("it ends too early");
      const std::size_t count = std::min(size, end_ - begin_);
      std::copy_n(output_.data() + begin_, count, into);
      begin_ += count;
      into += count;
      size -= count;
    }
  }

  /// Reads the rest, so that zstd compares its checksum.
  /// InputError for anything but some zeros.
  void finish() {
    constexpr std::size_t kMostZeros = 1U << 16U;
    std::size_t zeros = 0;
    while (true) {
      zeros += end_ - begin_;
      const bool plain = std::all_of(output_.data() + begin_, output_.data() + end_, [](char c) { return c == '\0'; });
      if (!plain || zeros > kMostZeros) refuse_archive("something stands behind its end");
      begin_ = end_;
      if (frame_ended_) break;
      refill();
    }
    if (input_.pos < input_.size || read_piece()) refuse_archive("something stands behind its end");
  }

 private:
  /// Leaves the buffer empty only at the end of the frame.
  void refill() {
    begin_ = 0;
    end_ = 0;
    while (end_ == 0 && !frame_ended_) {
      if (input_.pos == input_.size && !read_piece()) refuse_archive("it ends too early");
      ZSTD_outBuffer out{output_.data(), output_.size(), 0};
      const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &input_);
      if (ZSTD_isError(left) != 0) refuse_archive(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      frame_ended_ = left == 0;
      end_ = out.pos;
    }
  }

  bool read_piece() {
    ssize_t count = -1;
    do {
      count = ::read(fd_.get(), compressed_.data(), compressed_.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) throw UnavailableError(fmt::format("error: cannot read {}: {}", path_, std::strerror(errno)));
    input_ = {compressed_.data(), static_cast<std::size_t>(count), 0};
    return count > 0;
  }

  std::string path_;
  Descriptor fd_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  std::string compressed_ = std::string(kReadPiece, '\0');
  std::string output_ = std::string(kReadPiece, '\0');
  ZSTD_inBuffer input_{nullptr, 0, 0};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool frame_ended_ = false;
};

std::string read_text(ZstdReader& reader, std::uint64_t size) {
  if (size > kLargestHead) refuse_archive("a header is too large");
  std::string text(static_cast<std::size_t>(size), '\0');
  reader.read(text.data(), text.size());
  std::string padding(tar_padding(size), '\0');
  reader.read(padding.data(), padding.size());
  return text;
}

/// Returns the next file's header, with its pax records;
/// refuses anything but a plain file in the archive's own folder.
TarHeader next_header(ZstdReader& reader) {
  TarBlock block{};
  reader.read(block.data(), block.size());
  TarHeader header = read_tar_header(block);
  if (header.type == 'x') {
    const std::string records = read_text(reader, header.size);
    reader.read(block.data(), block.size());
    header = read_tar_header(block);
    if (header.is_end) refuse_archive("it ends too early");
    apply_pax_records(records, header);
  }
  if (header.is_end) return header;
  const std::string problem = why_unsafe(header.path);
  if (!problem.empty()) throw InputError(fmt::format("error: {}: refused: {}", json_quote(header.path), problem));
  if (header.type != '0') {
    throw InputError(fmt::format("error: {}: refused: it is no plain file (tar type `{}`)", json_quote(header.path),
                                 json_unquote(json_quote(std::string(1, header.type)))));
  }
  return header;
}

ArchiveHead parse_head(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("schema") != 1) refuse_archive("its schema is not 1; a newer hpcbench made it");
    ArchiveHead head;
    head.study = {json.at("experiment"), json.at("file"), json.at("profile"), json.at("site"), json.at("settings")};
    head.files = json.at("files");
    head.bytes = json.at("bytes");
    for (const std::string& path : {head.study.file, head.study.site}) {
      if (!why_unsafe(path).empty()) refuse_archive("archive.json names a file outside of it");
    }
    if (!is_plain_name(head.study.experiment)) refuse_archive("archive.json names no experiment");
    return head;
  } catch (const nlohmann::json::exception&) {
    refuse_archive("archive.json is malformed");
  }
}

ArchiveHead read_head(ZstdReader& reader) {
  const TarHeader header = next_header(reader);
  if (header.is_end || header.path != "archive.json") refuse_archive("it does not begin with archive.json");
  return parse_head(read_text(reader, header.size));
}

/// Refuses a path that `export` never writes: an index, for example, is made from the run directories and never taken from
/// elsewhere.
void require_known_place(const std::string& path) {
  const bool known = path.starts_with("study/") || path.starts_with("sites/") || path.starts_with("results/");
  if (!known || path.starts_with("results/hpcbench.db")) {
    throw InputError(fmt::format("error: {}: refused: an archive of hpcbench has no such file", json_quote(path)));
  }
}

/// Makes the folders above one file; refuses one that is a file of this archive.
void make_folders_of(const std::string& path, const std::string& said) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error == std::errc::not_a_directory || error == std::errc::file_exists) {
    throw InputError(fmt::format("error: {}: refused: a file stands where its folder must be", json_quote(said)));
  }
  if (error) throw UnavailableError(fmt::format("error: cannot create the folder of {}: {}", path, error.message()));
}

/// Writes one file below `folder`,
/// which contains only files of this archive.
void unpack_file(ZstdReader& reader, const TarHeader& header, const std::string& folder) {
  const std::string path = folder + "/" + header.path;
  make_folders_of(path, header.path);
  const Descriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, header.executable ? 0755 : 0644));
  if (fd.get() < 0 && errno == EEXIST) throw InputError(fmt::format("error: {}: refused: it comes twice", header.path));
  if (fd.get() < 0) throw UnavailableError(fmt::format("error: cannot write {}: {}", path, std::strerror(errno)));
  std::string piece(kReadPiece, '\0');
  for (std::uint64_t left = header.size; left > 0;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
    reader.read(piece.data(), count);
    for (std::size_t done = 0; done < count;) {
      const ssize_t written = ::write(fd.get(), piece.data() + done, count - done);
      if (written < 0 && errno != EINTR) {
        throw UnavailableError(fmt::format("error: cannot write {}: {}", path, std::strerror(errno)));
      }
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    left -= count;
  }
  std::string padding(tar_padding(header.size), '\0');
  reader.read(padding.data(), padding.size());
}

void unpack_files(ZstdReader& reader, const ArchiveHead& head, const std::string& folder) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (TarHeader header = next_header(reader); !header.is_end; header = next_header(reader)) {
    require_known_place(header.path);
    files += 1;
    if (files > head.files || header.size > head.bytes - bytes) refuse_archive("it holds more than archive.json says");
    bytes += header.size;
    unpack_file(reader, header, folder);
  }
  reader.finish();
  if (files != head.files || bytes != head.bytes) refuse_archive("it holds less than archive.json says");
}

}  // namespace

ArchiveHead unpack_archive(const std::string& archive, const std::string& folder, std::uint64_t limit_bytes) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder)) && !(fs::is_directory(folder) && fs::is_empty(folder, ignored))) {
    throw InputError(fmt::format("error: {} is there and not an empty folder; name another one", folder));
  }
  ZstdReader reader(archive);
  ArchiveHead head = read_head(reader);
  if (head.bytes > limit_bytes) {
    throw InputError(
        fmt::format("error: {} holds {:.1f} GB, more than the {:.1f} GB that may be "
                    "unpacked; see --limit-gb",
                    archive, static_cast<double>(head.bytes) / static_cast<double>(kGigabyte),
                    static_cast<double>(limit_bytes) / static_cast<double>(kGigabyte)));
  }
  const std::string partial = fmt::format("{}.{}.tmp", folder, ::getpid());
  try {
    make_folders(partial);
    unpack_files(reader, head, partial);
    LastRun beside_results = head.study;
    for (std::string* const path : {&beside_results.file, &beside_results.site}) *path = "../" + *path;
    make_folders(partial + "/results");
    write_last_run(partial + "/results", beside_results);
    fs::rename(partial, folder);
    head.study.file = folder + "/" + head.study.file;
    head.study.site = folder + "/" + head.study.site;
  } catch (...) {
    fs::remove_all(partial, ignored);
    throw;
  }
  return head;
}

TemporaryArchive::TemporaryArchive(const std::string& archive, std::uint64_t limit_bytes) : folder_("hpcbench-archive-") {
  unpack_archive(archive, folder_.path() + "/archive", limit_bytes);
}

}  // namespace hpcbench
