#include "files/content_hash.hpp"

namespace hpcbench::train {

void ContentHash::add_text(const std::string& text) {
  add_number(static_cast<std::int64_t>(text.size()));
  add(std::as_bytes(std::span(text)));
}

void ContentHash::add_number(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }

ContentHash::Digest ContentHash::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
  return {hash.high64, hash.low64};
}

std::string hex_of(const ContentHash::Digest& digest) {
  std::string text;
  for (const std::uint64_t word : digest) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> static_cast<unsigned>(shift) & 0xfU];
  }
  return text;
}

}  // namespace hpcbench::train
