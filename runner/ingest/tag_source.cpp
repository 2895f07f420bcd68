#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "checksum/crc32c.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/proto_fields.hpp"

namespace hpcbench {

namespace {

// A record of an event file: length (8 bytes), masked CRC32C of these, content, masked CRC32C of it; all little endian
// (tensorflow/core/lib/io/record_writer.h). The content is a protocol buffer `Event` (tensorflow/core/util/event.proto).

constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kTailBytes = 4;
constexpr std::size_t kLargestRecord = std::size_t{64} << 20;

double float_of(std::string_view bytes) { return std::bit_cast<float>(little_endian<std::uint32_t>(bytes)); }
double double_of(std::string_view bytes) { return std::bit_cast<double>(little_endian<std::uint64_t>(bytes)); }

double half_of(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double bfloat16_of(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// DataType of tensorflow/core/framework/types.proto.
enum TensorType : std::uint64_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9, kBfloat16 = 14, kHalf = 19 };

/// One element in `tensor_content`.
std::optional<double> tensor_content_value(std::uint64_t type, std::string_view content) {
  if (type == kFloat && content.size() == 4) return float_of(content);
  if (type == kDouble && content.size() == 8) return double_of(content);
  if (type == kInt32 && content.size() == 4)
    return static_cast<double>(static_cast<std::int32_t>(little_endian<std::uint32_t>(content)));
  if (type == kInt64 && content.size() == 8)
    return static_cast<double>(static_cast<std::int64_t>(little_endian<std::uint64_t>(content)));
  if (type == kHalf && content.size() == 2) return half_of(little_endian<std::uint16_t>(content));
  if (type == kBfloat16 && content.size() == 2) return bfloat16_of(little_endian<std::uint16_t>(content));
  return std::nullopt;
}

/// One element in one of the lists of a TensorProto: packed or not.
std::optional<double> tensor_list_value(const ProtoFields& field, std::uint64_t type) {
  constexpr std::uint64_t kHalfList = 13, kFloatList = 5, kDoubleList = 6, kIntList = 7, kInt64List = 10;
  if (field.number == kFloatList && field.wire != 0 && field.bytes.size() == 4) return float_of(field.bytes);
  if (field.number == kDoubleList && field.wire != 0 && field.bytes.size() == 8) return double_of(field.bytes);
  if (field.number != kHalfList && field.number != kIntList && field.number != kInt64List) return std::nullopt;
  std::uint64_t value = field.value;
  if (field.wire == 2) {
    if (field.bytes.empty() || field.bytes.size() > 10) return std::nullopt;
    std::uint64_t read = 0;
    std::size_t used = 0;
    for (; used < field.bytes.size(); ++used) {  // a varint
      const auto byte = static_cast<unsigned char>(field.bytes[used]);
      read |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * used);
      if ((byte & 0x80U) == 0) break;
    }
    if (used + 1 != field.bytes.size()) return std::nullopt;  // several elements, or none
    value = read;
  }
  if (field.number == kHalfList) {
    const auto bits = static_cast<std::uint16_t>(value);
    return type == kBfloat16 ? bfloat16_of(bits) : half_of(bits);
  }
  return static_cast<double>(static_cast<std::int64_t>(value));
}

/// The one number of a TensorProto; absent if it holds none or several.
std::optional<double> tensor_value(std::string_view tensor) {
  constexpr std::uint64_t kType = 1, kContent = 4;
  std::uint64_t type = 0;
  std::optional<double> value;
  for (ProtoFields field(tensor); field.next();) {
    if (field.number == kType && field.wire == 0) type = field.value;
  }
  for (ProtoFields field(tensor); field.next();) {
    const std::optional<double> found =
        field.number == kContent && field.wire == 2 ? tensor_content_value(type, field.bytes) : tensor_list_value(field, type);
    if (found && value) return std::nullopt;
    if (found) value = found;
  }
  return value;
}

struct Scalar {
  std::string_view tag;
  std::optional<double> value;
};

/// A Summary.Value.
Scalar read_scalar(std::string_view message) {
  constexpr std::uint64_t kTag = 1, kSimpleValue = 2, kTensor = 8;
  Scalar scalar;
  for (ProtoFields field(message); field.next();) {
    if (field.number == kTag && field.wire == 2) scalar.tag = field.bytes;
    if (field.number == kSimpleValue && field.wire == 5) scalar.value = float_of(field.bytes);
    if (field.number == kTensor && field.wire == 2) scalar.value = tensor_value(field.bytes);
  }
  return scalar;
}

/// Scalars of one tag in TensorBoard event files.
class TagReader : public MetricReader {
 public:
  using MetricReader::MetricReader;

  void feed(std::string_view piece) override {
    // Records over the limit go by without being held.
    const std::size_t skipped = std::min(skip_, piece.size());
    skip_ -= skipped;
    begin_ += static_cast<long long>(skipped);
    held_ += piece.substr(skipped);
    std::size_t at = 0;
    while (const std::size_t used = read_record(std::string_view(held_).substr(at))) at += used;
    begin_ += static_cast<long long>(at);
    held_.erase(0, at);
  }

 private:
  void begin_file() override {
    held_.clear();
    begin_ = 0;
    at_ = 0;
    skip_ = 0;
    damaged_ = false;
    version_seen_ = false;
  }

  void end_file() override {
    if (!held_.empty() || skip_ > 0) {
      warn_at_byte(begin_, damaged_ ? "no whole record after this" : "the last record is cut short");
    } else if (!version_seen_ && begin_ > 0) {
      warn_at_byte(0, "not an event file: it does not begin with a version");
    }
    held_.clear();
  }

  /// The bytes that were used: a record, one byte of what is damaged, or 0 if more are needed.
  std::size_t read_record(std::string_view bytes) {
    if (bytes.data() == held_.data()) at_ = begin_;
    if (bytes.size() < kHeadBytes) return 0;
    const auto length = little_endian<std::uint64_t>(bytes);
    if (masked_crc32c(bytes.substr(0, 8)) != little_endian<std::uint32_t>(bytes.substr(8)))
      return damage("wrong checksum of a record's length");
    if (length > kLargestRecord) return skip_record(length, bytes.size());
    const auto size = static_cast<std::size_t>(length);
    if (bytes.size() < kHeadBytes + size + kTailBytes) return 0;
    const std::string_view content = bytes.substr(kHeadBytes, size);
    if (masked_crc32c(content) != little_endian<std::uint32_t>(bytes.substr(kHeadBytes + size))) {
      return damage("wrong checksum of a record's content");
    }
    damaged_ = false;
    read_event(content);
    at_ += static_cast<long long>(kHeadBytes + size + kTailBytes);
    return kHeadBytes + size + kTailBytes;
  }

  /// One message for all bytes until the next record whose checksums hold.
  std::size_t damage(const char* what) {
    if (!damaged_) warn_at_byte(at_, what);
    damaged_ = true;
    ++at_;
    return 1;
  }

  std::size_t skip_record(std::uint64_t length, std::size_t held) {
    warn_at_byte(at_, fmt::format("a record of {} bytes: left out", length));
    // A length that no file has is damage, whatever its checksum says.
    if (length > (std::uint64_t{1} << 40)) return damage("a record's length is beyond any file");
    const auto whole = static_cast<std::size_t>(length) + kHeadBytes + kTailBytes;
    const std::size_t here = std::min(held, whole);
    skip_ = whole - here;
    at_ += static_cast<long long>(here);
    return here;
  }

  void read_event(std::string_view event) {
    constexpr std::uint64_t kStep = 2, kFileVersion = 3, kSummary = 5, kSummaryValue = 1;
    std::int64_t step = 0;
    for (ProtoFields field(event); field.next();) {
      if (field.number == kStep && field.wire == 0) step = static_cast<std::int64_t>(field.value);
      if (field.number == kFileVersion && field.wire == 2) version_seen_ = true;
    }
    for (ProtoFields field(event); field.next();) {
      if (field.number != kSummary || field.wire != 2) continue;
      for (ProtoFields value(field.bytes); value.next();) {
        if (value.number == kSummaryValue && value.wire == 2) take_scalar(read_scalar(value.bytes), step);
      }
    }
  }

  void take_scalar(const Scalar& scalar, std::int64_t step) {
    if (scalar.tag != spec_.selector) return;
    if (!scalar.value) {
      warn_at_byte(at_, "the tag is no scalar here");
    } else if (!std::isfinite(*scalar.value)) {
      found_at_byte(at_, taker_.take_text(fmt::format("{}", *scalar.value)));
    } else {
      found_at_byte(at_, taker_.take(*scalar.value, static_cast<double>(step)));
    }
  }

  std::string held_;      // bytes of records that are not whole yet
  long long begin_ = 0;   // of held_, in the file
  long long at_ = 0;      // of the record that is being read
  std::size_t skip_ = 0;  // bytes still to come of a record that is too large
  bool damaged_ = false;
  bool version_seen_ = false;
};

}  // namespace

std::unique_ptr<MetricReader> make_tag_reader(const Metric& spec) { return std::make_unique<TagReader>(spec); }

}  // namespace hpcbench
