#include "data/squad/content_hash.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hpcbench::train {

namespace {

constexpr std::array<std::uint64_t, 4> kLaneFactors = {0x9e3779b97f4a7c15ULL, 0xc2b2ae3d27d4eb4fULL, 0x165667b19e3779f9ULL,
                                                       0xff51afd7ed558ccdULL};

std::uint64_t finalise(std::uint64_t value) {
  value = (value ^ value >> 33U) * 0xff51afd7ed558ccdULL;
  value = (value ^ value >> 33U) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33U;
}

}  // namespace

void ContentHash::add_block(const std::byte* block) {
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, block + 8 * i, 8);
    lanes_[i] = std::rotl(lanes_[i] ^ word, 31) * kLaneFactors[i];
  }
}

void ContentHash::add(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(bytes.size(), pending_.size() - pending_size_);
    std::copy_n(bytes.begin(), taken, pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_));
    pending_size_ += taken;
    bytes = bytes.subspan(taken);
    if (pending_size_ < pending_.size()) return;
    add_block(pending_.data());
    pending_size_ = 0;
  }
  for (; bytes.size() >= pending_.size(); bytes = bytes.subspan(pending_.size())) add_block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), pending_.begin());
  pending_size_ = bytes.size();
}

void ContentHash::add_text(const std::string& text) {
  add_number(static_cast<std::int64_t>(text.size()));
  add(std::as_bytes(std::span(text)));
}

void ContentHash::add_number(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }

ContentHash::Digest ContentHash::digest() const {
  ContentHash rest = *this;
  std::fill(rest.pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_), rest.pending_.end(), std::byte{0});
  if (pending_size_ > 0) rest.add_block(rest.pending_.data());
  Digest digest = {finalise(total_), finalise(total_ + 1)};
  for (std::size_t i = 0; i < 4; ++i) {
    digest[0] = finalise(digest[0] ^ rest.lanes_[i]);
    digest[1] = finalise(digest[1] + rest.lanes_[3 - i] * kLaneFactors[i]);
  }
  return digest;
}

std::string hex_of(const ContentHash::Digest& digest) {
  std::string text;
  for (const std::uint64_t word : digest) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> static_cast<unsigned>(shift) & 0xfU];
  }
  return text;
}

}  // namespace hpcbench::train
