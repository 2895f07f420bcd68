#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace hpcbench::train {

/// 128 bits of a sequence of bytes, fed in parts of any sizes: tells contents apart and finds damage; no defence against
/// malice. Four lanes take 8 bytes in turn, lane = rotate(lane ^ bytes) * odd constant, which is one to one in each word, so
/// that any two contents that differ in one word differ; lanes and length are then mixed by the finaliser of MurmurHash3.
class ContentHash {
 public:
  using Digest = std::array<std::uint64_t, 2>;

  void add(std::span<const std::byte> bytes);
  void add_text(const std::string& text);
  void add_number(std::int64_t number);
  Digest digest() const;

 private:
  void add_block(const std::byte* block);  // 32 bytes

  std::array<std::uint64_t, 4> lanes_ = {0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL, 0xa4093822299f31d0ULL,
                                         0x082efa98ec4e6c89ULL};
  std::array<std::byte, 32> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

/// 32 hexadecimal digits.
std::string hex_of(const ContentHash::Digest& digest);

}  // namespace hpcbench::train
