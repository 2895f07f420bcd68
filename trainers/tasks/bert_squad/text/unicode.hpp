#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace hpcbench::train {

/// The properties of a code point for BERT's normaliser, as bits.
namespace character {
inline constexpr std::uint8_t kDropped = 1;      // control, format, private use, U+0000, U+FFFD
inline constexpr std::uint8_t kSpace = 2;        // white space, which becomes a space
inline constexpr std::uint8_t kCjk = 4;          // an ideograph: always a separate word
inline constexpr std::uint8_t kPunctuation = 8;  // always a separate word, too
inline constexpr std::uint8_t kMark = 16;        // a non-spacing mark, dropped without case
inline constexpr std::uint8_t kNormalised = 32;  // decomposes, or has a combining class other than 0
inline constexpr std::uint8_t kCased = 64;       // its lower case is another character
}  // namespace character

/// The classes of all code points as in Hugging Face's `tokenizers` (tasks/bert_squad/text/unicode_tables.hpp). Decompositions
/// and combining classes are utf8proc's: they never change for a character that has them, so its version does not matter.
class CharacterTable {
 public:
  static const CharacterTable& instance();

  std::uint8_t classes(char32_t code_point) const {
    return code_point < 0x110000 ? blocks_[block_of_[code_point >> 8]][code_point & 0xff] : character::kDropped;
  }

 private:
  CharacterTable();
  void set(char32_t first, char32_t last, std::int32_t step, std::uint8_t bit);

  std::array<std::uint16_t, 0x1100> block_of_{};  // 0: all zero
  std::vector<std::array<std::uint8_t, 256>> blocks_;
};

/// Computes the full canonical decomposition; returns the number of code points in `parts`.
int decompose(char32_t code_point, std::array<char32_t, 8>& parts);

int combining_class(char32_t code_point);

/// Returns the lower case of one code point, ignoring its neighbours. (U+0130 has two; it never occurs here, because it is
/// decomposed before.)
char32_t lower_case(char32_t code_point);

/// Returns whether Python's str.lstrip() strips it.
bool is_lstrip_space(char32_t code_point);

}  // namespace hpcbench::train
