#include "files/tensorboard.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checksum/crc32c.hpp"
#include "files/folder.hpp"

namespace hpcbench::train {

namespace {

template <class Number>
std::string little_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(Number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(Number));
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7F));
  return bytes + static_cast<char>(value);
}

/// Encode the required fields of protocol buffers: number and kind, then the value.
std::string double_field(unsigned number, double value) { return varint(number << 3 | 1) + little_endian(value); }
std::string float_field(unsigned number, float value) { return varint(number << 3 | 5) + little_endian(value); }
std::string bytes_field(unsigned number, const std::string& value) {
  return varint(number << 3 | 2) + varint(value.size()) + value;
}
std::string integer_field(unsigned number, std::int64_t value) {
  return varint(number << 3) + varint(static_cast<std::uint64_t>(value));
}

// tensorflow/core/util/event.proto: Event { double wall_time = 1; int64 step =
// 2; string file_version = 3; Summary summary = 5; }
std::string version_event(double time_s) { return double_field(1, time_s) + bytes_field(3, "brain.Event:2"); }

// tensorflow/core/framework/summary.proto: Summary { repeated Value value = 1;
// } Value { string tag = 1; float simple_value = 2; }
std::string scalar_event(double time_s, const std::string& tag, std::int64_t step, double value) {
  const std::string entry = bytes_field(1, tag) + float_field(2, static_cast<float>(value));
  return double_field(1, time_s) + integer_field(2, step) + bytes_field(5, bytes_field(1, entry));
}

/// tensorflow/core/lib/io/record_writer: length, its CRC, the bytes, their CRC.
std::string record_of(const std::string& event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + little_endian(masked_crc32c(length)) + event + little_endian(masked_crc32c(event));
}

std::string short_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name[0] == '\0' ? "localhost" : name.data();
}

}  // namespace

struct TensorBoardFile::Writer {
  std::filesystem::path path;
  int descriptor = -1;
  bool said_full = false;

  /// Takes back a record that cannot be written whole: the earlier ones stay
  /// readable.
  void write(const std::string& event) {
    const std::string record = record_of(event);
    const off_t begin = lseek(descriptor, 0, SEEK_END);
    errno = 0;
    if (::write(descriptor, record.data(), record.size()) == static_cast<ssize_t>(record.size())) return;
    const int cause = errno == 0 ? ENOSPC : errno;
    if (begin >= 0 && ftruncate(descriptor, begin) != 0) errno = cause;
    if (said_full) return;
    said_full = true;
    log_warning(concat("warning: ", path.string(), " could not be written: ", std::strerror(cause)));
  }
};

TensorBoardFile::TensorBoardFile(const std::filesystem::path& folder) : writer_(std::make_unique<Writer>()) {
  make_folder(folder);
  const double time_s = unix_s();
  const std::string name =
      concat("events.out.tfevents.", static_cast<std::int64_t>(time_s), ".", short_host_name(), ".", getpid());
  for (int number = 0; writer_->descriptor < 0; ++number) {  // a second file of this process in the same second
    writer_->path = folder / (number == 0 ? name : concat(name, ".", number));
    writer_->descriptor = open(writer_->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (writer_->descriptor < 0 && errno != EEXIST)
      throw DataError(concat("error: cannot create ", writer_->path.string(), ": ", std::strerror(errno)));
  }
  writer_->write(version_event(time_s));
}

TensorBoardFile::~TensorBoardFile() { close(writer_->descriptor); }

void TensorBoardFile::scalar(const std::string& tag, std::int64_t step, double value) {
  writer_->write(scalar_event(unix_s(), tag, step, value));
}

}  // namespace hpcbench::train
