#pragma once

#define XXH_STATIC_LINKING_ONLY  // declares the state as a value, which can be copied
#include <xxhash.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace hpcbench::train {

/// XXH3 in 128 bits of a sequence of bytes, passed in parts of any sizes: it distinguishes contents and detects damage, but
/// does not protect against malice.
class ContentHash {
 public:
  using Digest = std::array<std::uint64_t, 2>;

  ContentHash() { XXH3_128bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
  void add_text(const std::string& text);  // Adds the length, too.
  void add_number(std::int64_t number);
  Digest digest() const;

 private:
  XXH3_state_t state_;
};

/// Returns the digest as 32 hexadecimal digits.
std::string hex_of(const ContentHash::Digest& digest);

}  // namespace hpcbench::train
