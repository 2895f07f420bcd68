#include "tasks/mnist_rnn/idx.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr std::uint32_t kImagesMagic = 2051;
constexpr std::uint32_t kLabelsMagic = 2049;

/// A file that is plain or gzipped; zlib passes plain bytes through.
class IdxFile {
 public:
  explicit IdxFile(const std::filesystem::path& path) : path_(path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail(concat("cannot be read: ", std::strerror(errno)));
    file_ = gzdopen(descriptor, "rb");
    if (!file_) {
      close(descriptor);
      fail("cannot be read: out of memory");
    }
    gzbuffer(file_, 1 << 18);
  }
  ~IdxFile() {
    if (file_) gzclose_r(file_);
  }
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  [[noreturn]] void fail(const std::string& why) const { throw DataError(concat("error: ", path_.string(), " ", why)); }

  /// Reads up to `size` bytes; fewer at the end of the file.
  std::size_t read(std::uint8_t* bytes, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const int got = gzread(file_, bytes + done, static_cast<unsigned>(std::min<std::size_t>(size - done, 1 << 24)));
      if (got < 0) fail_of_zlib();
      if (got == 0) {
        check_end();
        break;
      }
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  std::uint32_t read_word(const char* what) {
    std::array<std::uint8_t, 4> bytes{};
    if (read(bytes.data(), bytes.size()) != bytes.size()) fail(concat("ends before its header does (", what, ")"));
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
  }

  void expect_magic(std::uint32_t expected, const char* what) {
    const std::uint32_t magic = read_word("magic number");
    if (magic != expected) fail(concat("is no IDX file of ", what, ": its magic number is ", magic, ", not ", expected));
  }

  /// Reads the rest of the file, which must be exactly `size` bytes.
  std::vector<std::uint8_t> read_rest(std::uint64_t size) {
    constexpr std::uint64_t kChunk = 1 << 24;  // the header may be wrong: memory grows with the actual content
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < size) {
      const std::size_t old_size = bytes.size();
      bytes.resize(static_cast<std::size_t>(std::min(size, old_size + kChunk)));
      const std::size_t got = read(bytes.data() + old_size, bytes.size() - old_size);
      if (old_size + got < bytes.size())
        fail(concat("is too short: its header announces ", size, " bytes of data, it holds ", old_size + got));
    }
    std::uint8_t extra = 0;
    if (read(&extra, 1) != 0) fail(concat("is too long: its header announces ", size, " bytes of data, it holds more"));
    return bytes;
  }

 private:
  /// zlib reports a truncated stream only here, after it has returned its content.
  void check_end() {
    int state = Z_OK;
    gzerror(file_, &state);
    if (state != Z_OK) fail_of_zlib();
  }

  [[noreturn]] void fail_of_zlib() {
    int state = Z_OK;
    const char* text = gzerror(file_, &state);
    if (state == Z_ERRNO) fail(concat("cannot be read: ", std::strerror(errno)));
    fail(concat("is damaged: ", state == Z_BUF_ERROR ? "the gzip stream ends too early" : text));
  }

  std::filesystem::path path_;
  gzFile file_ = nullptr;
};

}  // namespace

IdxImages read_idx_images(const std::filesystem::path& path) {
  IdxFile file(path);
  file.expect_magic(kImagesMagic, "images");
  IdxImages images;
  images.count = file.read_word("count");
  images.rows = file.read_word("rows");
  images.columns = file.read_word("columns");
  constexpr std::int64_t kMaxSide = 4096;
  if (images.count == 0 || images.rows == 0 || images.columns == 0) file.fail("holds no images, according to its header");
  if (images.rows > kMaxSide || images.columns > kMaxSide)
    file.fail(concat("has a wrong header: images of ", images.rows, " x ", images.columns, " pixels"));
  images.pixels = file.read_rest(static_cast<std::uint64_t>(images.count * images.rows * images.columns));
  return images;
}

std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path) {
  IdxFile file(path);
  file.expect_magic(kLabelsMagic, "labels");
  const std::uint32_t count = file.read_word("count");
  return file.read_rest(count);
}

}  // namespace hpcbench::train
