#include "ingest/unpacked_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace hpcbench {

namespace {

constexpr std::size_t kPackedPiece = std::size_t{1} << 16;
constexpr std::size_t kMostUnpacked = std::size_t{1} << 30;
constexpr int kLargestZstdWindowLog = 27;  // 128 MiB of memory at most
constexpr int kGzipWindowBits = 15 + 16;   // zlib: a gzip header, no other

class PlainFile : public UnpackedFile {
 public:
  explicit PlainFile(int fd) : fd_(fd) {}

  ssize_t read(char* into, std::size_t room) override {
    while (true) {
      const ssize_t count = ::read(fd_, into, room);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) problem_ = std::strerror(errno);
      return count;
    }
  }

 private:
  int fd_;
};

/// What gzip and zstd share: packed bytes come in pieces, unpacked ones are counted, several members follow one another.
class PackedFile : public UnpackedFile {
 public:
  PackedFile(int fd, const char* format) : format_(format), file_(fd) {}

  ssize_t read(char* into, std::size_t room) override {
    while (true) {
      if (at_ == held_ && !refill()) return -1;
      if (held_ == 0 && (!begun_ || between_)) return 0;
      if (held_ == 0 && !may_hold_more_) return fail("the file ends too early");
      const std::size_t before = at_;
      const std::size_t made = unpack(into, room);
      may_hold_more_ = made == room;  // the library may keep bytes for which there was no room
      if (!problem_.empty()) return -1;
      if (at_ > before) begun_ = true;
      unpacked_ += made;
      if (unpacked_ > kMostUnpacked) return fail("more than 1 GiB when unpacked; the rest is not read");
      if (made > 0) return static_cast<ssize_t>(made);
    }
  }

 protected:
  /// Unpacks from `next()`, `left()` bytes; calls `used` and, at the end of a member, `ended`. Bytes made.
  virtual std::size_t unpack(char* into, std::size_t room) = 0;

  const char* next() const { return packed_.data() + at_; }
  std::size_t left() const { return held_ - at_; }
  void used(std::size_t bytes, bool ended) {
    at_ += bytes;
    between_ = ended;
  }
  bool is_between() const { return between_; }
  ssize_t fail(std::string_view why) {
    problem_ = fmt::format("byte {}: {}: {}", passed_ + at_, format_, why);
    return -1;
  }

 private:
  bool refill() {
    passed_ += held_;
    at_ = held_ = 0;
    const ssize_t count = file_.read(packed_.data(), packed_.size());
    if (count < 0) problem_ = file_.problem();
    if (count > 0) held_ = static_cast<std::size_t>(count);
    return count >= 0;
  }

  const char* format_;
  PlainFile file_;
  std::vector<char> packed_ = std::vector<char>(kPackedPiece);
  std::size_t at_ = 0, held_ = 0, passed_ = 0, unpacked_ = 0;
  bool begun_ = false;
  bool between_ = false;  // a member has ended and none has begun
  bool may_hold_more_ = false;
};

class GzipFile : public PackedFile {
 public:
  explicit GzipFile(int fd) : PackedFile(fd, "gzip") {
    if (::inflateInit2(&stream_, kGzipWindowBits) != Z_OK) fail("no memory");
  }
  ~GzipFile() override { ::inflateEnd(&stream_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

 private:
  std::size_t unpack(char* into, std::size_t room) override {
    if (is_between()) ::inflateReset(&stream_);
    const std::size_t packed = left();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next()));
    stream_.avail_in = static_cast<uInt>(packed);
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    used(packed - stream_.avail_in, result == Z_STREAM_END);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      fail(stream_.msg != nullptr ? stream_.msg : "damaged");
    return room - stream_.avail_out;
  }

  z_stream stream_{};
};

class ZstdFile : public PackedFile {
 public:
  explicit ZstdFile(int fd) : PackedFile(fd, "zstd") {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kLargestZstdWindowLog);
  }

 private:
  std::size_t unpack(char* into, std::size_t room) override {
    ZSTD_inBuffer in{next(), left(), 0};
    ZSTD_outBuffer out{into, room, 0};
    const std::size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
    used(in.pos, result == 0);
    if (ZSTD_isError(result) != 0) fail(ZSTD_getErrorName(result));
    return out.pos;
  }

  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

}  // namespace

std::unique_ptr<UnpackedFile> unpacked_file(std::string_view path, int fd) {
  if (path.ends_with(".gz")) return std::make_unique<GzipFile>(fd);
  if (path.ends_with(".zst")) return std::make_unique<ZstdFile>(fd);
  return std::make_unique<PlainFile>(fd);
}

}  // namespace hpcbench
