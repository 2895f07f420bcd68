#include "tasks/bert_squad/text/word_cache.hpp"

#include <algorithm>

namespace hpcbench::train {

namespace {

constexpr std::size_t kWordSlots = 1U << 16U;
constexpr std::size_t kMostWords = kWordSlots / 2;
constexpr std::size_t kLongestWord = 64;  // bytes: longer words rarely repeat

}  // namespace

WordCache::WordCache() : entries_(kWordSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) {
  std::uint64_t hash = 0;
  for (const char byte : word) hash = hash_step(hash, static_cast<unsigned char>(byte));
  return hash;
}

std::size_t WordCache::slot(std::string_view word, std::uint64_t hash) const {
  std::size_t index = hash >> 40U & (kWordSlots - 1);
  while (true) {
    const Entry& entry = entries_[index];
    if (entry.count == 0) return index;
    if (entry.hash == hash && std::string_view(texts_).substr(entry.text, entry.text_size) == word) return index;
    index = (index + 1) & (kWordSlots - 1);
  }
}

std::span<const WordPiece> WordCache::find(std::string_view word, std::uint64_t hash) const {
  const Entry& entry = entries_[slot(word, hash)];
  return {pieces_.data() + entry.pieces, entry.count};
}

void WordCache::put(std::string_view word, std::uint64_t hash, std::span<const WordPiece> pieces) {
  if (word.size() > kLongestWord || pieces.empty()) return;
  if (used_ == kMostWords) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    texts_.clear();
    pieces_.clear();
    used_ = 0;
  }
  Entry& entry = entries_[slot(word, hash)];
  if (entry.count != 0) return;
  entry = {hash, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(pieces_.size()),
           static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(pieces.size())};
  texts_ += word;
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  ++used_;
}

}  // namespace hpcbench::train
