#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hpcbench {

/// The first bytes as an unsigned number, the least byte first.
template <class T>
T little_endian(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>((value << 8) | static_cast<unsigned char>(bytes[i]));
  return value;
}

/// The fields of a protocol buffer message, one after the other. Total.
class ProtoFields {
 public:
  explicit ProtoFields(std::string_view message) : rest_(message) {}

  /// False at the end, and at what is no field.
  bool next() {
    std::uint64_t key = 0;
    if (rest_.empty() || !varint(key)) return false;
    number = key >> 3;
    wire = static_cast<int>(key & 7);
    switch (wire) {
      case 0:
        return varint(value);
      case 1:
        return take(8);
      case 2: {
        std::uint64_t size = 0;
        return varint(size) && size <= rest_.size() && take(static_cast<std::size_t>(size));
      }
      case 5:
        return take(4);
      default:
        return false;
    }
  }

  std::uint64_t number = 0;
  int wire = 0;
  std::uint64_t value = 0;  // of wire type 0
  std::string_view bytes;   // of all others

 private:
  bool varint(std::uint64_t& into) {
    into = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      into |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return true;
    }
    return false;
  }

  bool take(std::size_t count) {
    if (rest_.size() < count) return false;
    bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

  std::string_view rest_;
};

}  // namespace hpcbench
