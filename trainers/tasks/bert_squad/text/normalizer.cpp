#include "tasks/bert_squad/text/normalizer.hpp"

#include <algorithm>

#include "tasks/bert_squad/text/utf8.hpp"

namespace hpcbench::train {

const std::vector<AlignedCharacter>& Normalizer::normalize(std::string_view text, std::int32_t first) {
  const CharacterTable& table = CharacterTable::instance();
  clean(text, first);
  if (cased_) return characters_;
  const bool has_parts = std::any_of(characters_.begin(), characters_.end(), [&](const AlignedCharacter& character) {
    return (table.classes(character.code_point) & character::kNormalised) != 0;
  });
  if (has_parts) decompose_all();
  std::erase_if(characters_, [&](const AlignedCharacter& character) {
    return (table.classes(character.code_point) & character::kMark) != 0;
  });
  for (AlignedCharacter& character : characters_) {
    if (table.classes(character.code_point) & character::kCased) character.code_point = lower_case(character.code_point);
  }
  return characters_;
}

void Normalizer::clean(std::string_view text, std::int32_t first) {
  const CharacterTable& table = CharacterTable::instance();
  characters_.clear();
  std::int32_t number = first;
  for (std::size_t position = 0; position < text.size(); ++number) {
    const auto code_point = next_code_point(text, position);
    if (!code_point) {  // no caller passes such a text; it must end anyway
      ++position;
      continue;
    }
    const std::uint8_t classes = table.classes(*code_point);
    if (classes & character::kDropped) continue;
    const AlignedCharacter character{classes & character::kSpace ? U' ' : *code_point, number, number + 1};
    const AlignedCharacter space{U' ', number, number + 1};
    if (classes & character::kCjk) characters_.push_back(space);
    characters_.push_back(character);
    if (classes & character::kCjk) characters_.push_back(space);
  }
}

void Normalizer::decompose_all() {
  const CharacterTable& table = CharacterTable::instance();
  parts_.clear();
  std::size_t pending = 0;  // from here on all have a combining class other than 0
  std::array<char32_t, 8> buffer{};
  const auto put = [&](char32_t code_point, bool added) {
    const bool inert = !(table.classes(code_point) & character::kNormalised);
    const int combining = inert ? 0 : combining_class(code_point);
    if (combining == 0) order_pending(pending);
    parts_.push_back({code_point, combining, added});
    if (combining == 0) pending = parts_.size();
  };
  for (const AlignedCharacter& character : characters_) {
    if (!(table.classes(character.code_point) & character::kNormalised)) {
      put(character.code_point, false);
      continue;
    }
    const int count = decompose(character.code_point, buffer);
    for (int i = 0; i < count; ++i) put(buffer[static_cast<std::size_t>(i)], i > 0);
  }
  order_pending(pending);

  decomposed_.clear();
  std::size_t next = 0;
  for (const Part& part : parts_) {
    AlignedCharacter character;
    if (!part.added) {
      character = characters_[next++];
    } else if (next > 0) {
      character = characters_[next - 1];
    }
    character.code_point = part.code_point;
    decomposed_.push_back(character);
  }
  characters_.swap(decomposed_);
}

void Normalizer::order_pending(std::size_t begin) {
  if (parts_.size() - begin < 2) return;
  std::stable_sort(parts_.begin() + static_cast<std::ptrdiff_t>(begin), parts_.end(),
                   [](const Part& a, const Part& b) { return a.combining_class < b.combining_class; });
}

}  // namespace hpcbench::train
