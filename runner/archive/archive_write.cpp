#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "archive/archive.hpp"
#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_writer.hpp"

namespace hpcbench {

namespace {

constexpr int kZstdLevel = 9;
constexpr std::size_t kArchivePiece = 1U << 17U;

[[noreturn]] void throw_errno(const std::string& what, const std::string& path) {
  throw UnavailableError(fmt::format("error: cannot {} {}: {}", what, path, std::strerror(errno)));
}

/// Compresses its input into a file.
/// One thread: several would cut the stream at varying places.
class ZstdFile {
 public:
  explicit ZstdFile(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (fd_.get() < 0) throw_errno("write", path_);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void add(std::string_view bytes) { compress({bytes.data(), bytes.size(), 0}, ZSTD_e_continue); }

  void finish() {
    compress({nullptr, 0, 0}, ZSTD_e_end);
    if (::fsync(fd_.get()) != 0) throw_errno("write", path_);
  }

 private:
  void compress(ZSTD_inBuffer input, ZSTD_EndDirective directive) {
    while (true) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
      if (ZSTD_isError(left) != 0) throw std::runtime_error(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      put(output.pos);
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }

  void put(std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = ::write(fd_.get(), buffer_.data() + done, size - done);
      if (count < 0 && errno != EINTR) throw_errno("write", path_);
      if (count > 0) done += static_cast<std::size_t>(count);
    }
  }

  std::string path_;
  Descriptor fd_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  std::string buffer_ = std::string(kArchivePiece, '\0');
};

void add_from_disk(ZstdFile& out, const ArchiveFile& file) {
  const Descriptor fd(::open(file.source.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) throw_errno("read", file.source);
  std::string piece(kArchivePiece, '\0');
  for (std::uint64_t left = file.size; left > 0;) {
    const ssize_t count = ::read(fd.get(), piece.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("read", file.source);
    if (count == 0) throw UnavailableError(fmt::format("error: {} became shorter while it was read; try again", file.source));
    out.add({piece.data(), static_cast<std::size_t>(count)});
    left -= static_cast<std::uint64_t>(count);
  }
}

void add_file(ZstdFile& out, const ArchiveFile& file) {
  out.add(tar_header({file.path, file.size, file.executable}));
  if (file.source.empty()) {
    out.add(file.content);
  } else {
    add_from_disk(out, file);
  }
  out.add(std::string(tar_padding(file.size), '\0'));
}

ArchiveFile head_file(const LastRun& study, const std::vector<ArchiveFile>& files) {
  std::uint64_t bytes = 0;
  for (const ArchiveFile& file : files) bytes += file.size;
  JsonWriter json(1);
  json.begin_object(JsonLayout::lines).member("schema", 1).member("experiment", study.experiment).member("file", study.file);
  json.member("profile", study.profile).member("site", study.site).member("settings", study.settings);
  json.member("files", files.size()).member("bytes", bytes).member("hpcbench", HPCBENCH_VERSION).end();
  ArchiveFile head;
  head.path = "archive.json";
  head.content = json.take() + "\n";
  head.size = head.content.size();
  return head;
}

}  // namespace

void write_archive(const std::string& out, const LastRun& study, std::vector<ArchiveFile> files) {
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::status(out, unknown);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    throw InputError(fmt::format("error: {} is there and no plain file; name another one", out));
  std::sort(files.begin(), files.end(), [](const ArchiveFile& a, const ArchiveFile& b) { return a.path < b.path; });
  for (const ArchiveFile& file : files) {
    const std::string problem = why_unsafe(file.path);
    if (!problem.empty()) throw InputError(fmt::format("error: {} cannot be archived: {}", file.path, problem));
  }
  const std::string partial = fmt::format("{}.{}.tmp", out, ::getpid());
  try {
    ZstdFile stream(partial);
    add_file(stream, head_file(study, files));
    for (const ArchiveFile& file : files) add_file(stream, file);
    stream.add(tar_end());
    stream.finish();
    std::filesystem::rename(partial, out);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw;
  }
}

}  // namespace hpcbench
