#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// A piece of a word: its id, and how many characters of the normalised word it covers.
struct WordPiece {
  std::int32_t id = 0;
  std::int32_t characters = 0;
};

/// The pieces of recent words. Bounded: when it is full it is emptied.
class WordCache {
 public:
  WordCache();

  static std::uint64_t hash_step(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x9e3779b97f4a7c15ULL; }
  static std::uint64_t hash_of(std::string_view word);

  /// Returns the word's pieces, valid until the next put(); an empty span if it is unknown.
  std::span<const WordPiece> find(std::string_view word, std::uint64_t hash) const;
  void put(std::string_view word, std::uint64_t hash, std::span<const WordPiece> pieces);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t text = 0;
    std::uint32_t pieces = 0;
    std::uint16_t text_size = 0;
    std::uint16_t count = 0;  // 0: free
  };
  std::size_t slot(std::string_view word, std::uint64_t hash) const;

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  std::string texts_;
  std::vector<WordPiece> pieces_;
};

}  // namespace hpcbench::train
