#include "tasks/bert_squad/text/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>

#include "tasks/bert_squad/text/unicode_tables.hpp"

namespace hpcbench::train {

CharacterTable::CharacterTable() : blocks_(1) {
  const auto set_all = [&](const auto& ranges, std::uint8_t bit) {
    for (const CodePointRange& range : ranges) set(range.first, range.last, 1, bit);
  };
  set_all(kDroppedRanges, character::kDropped);
  set_all(kSpaceRanges, character::kSpace);
  set_all(kCjkRanges, character::kCjk);
  set_all(kPunctuationRanges, character::kPunctuation);
  set_all(kMarkRanges, character::kMark);
  set_all(kNormalisedRanges, character::kNormalised);
  set(0xac00, 0xd7a3, 1, character::kNormalised);  // Hangul syllables
  for (const LowerCaseRun& run : kLowerCaseRuns) set(run.first, run.last, run.step, character::kCased);
}

void CharacterTable::set(char32_t first, char32_t last, std::int32_t step, std::uint8_t bit) {
  for (char32_t code_point = first; code_point <= last; code_point += static_cast<char32_t>(step)) {
    std::uint16_t& block = block_of_[code_point >> 8];
    if (block == 0) {
      block = static_cast<std::uint16_t>(blocks_.size());
      blocks_.emplace_back();
    }
    blocks_[block][code_point & 0xff] |= bit;
  }
}

const CharacterTable& CharacterTable::instance() {
  static const CharacterTable kTable;
  return kTable;
}

int decompose(char32_t code_point, std::array<char32_t, 8>& parts) {
  std::array<utf8proc_int32_t, 8> buffer{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), buffer.data(), buffer.size(),
                                             UTF8PROC_DECOMPOSE, &boundary);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(buffer.size())) {
    parts[0] = code_point;
    return 1;
  }
  std::copy(buffer.begin(), buffer.begin() + count, parts.begin());
  return static_cast<int>(count);
}

int combining_class(char32_t code_point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class;
}

char32_t lower_case(char32_t code_point) {
  const auto after = std::upper_bound(kLowerCaseRuns.begin(), kLowerCaseRuns.end(), code_point,
                                      [](char32_t value, const LowerCaseRun& run) { return value < run.first; });
  if (after == kLowerCaseRuns.begin()) return code_point;
  const LowerCaseRun& run = *(after - 1);
  if (code_point > run.last || (code_point - run.first) % static_cast<char32_t>(run.step) != 0) return code_point;
  return static_cast<char32_t>(static_cast<std::int32_t>(code_point) + run.difference);
}

bool is_lstrip_space(char32_t code_point) {
  return (code_point >= 0x09 && code_point <= 0x0d) || (code_point >= 0x1c && code_point <= 0x20) || code_point == 0x85 ||
         code_point == 0xa0 || code_point == 0x1680 || (code_point >= 0x2000 && code_point <= 0x200a) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0x202f || code_point == 0x205f || code_point == 0x3000;
}

}  // namespace hpcbench::train
