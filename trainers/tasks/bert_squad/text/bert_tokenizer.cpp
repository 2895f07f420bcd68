#include "tasks/bert_squad/text/bert_tokenizer.hpp"

#include "base/error.hpp"
#include "tasks/bert_squad/text/utf8.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int32_t kMostWordCharacters = 100;

enum class AsciiKind : unsigned char { kLetter, kSpace, kPunctuation, kOther };  // kOther: dropped, or not ASCII

std::array<AsciiKind, 256> make_ascii_kinds() {
  std::array<AsciiKind, 256> kinds{};
  kinds.fill(AsciiKind::kOther);
  for (char32_t c = 0; c < 128; ++c) {
    const std::uint8_t classes = CharacterTable::instance().classes(c);
    if (classes & character::kDropped) continue;
    kinds[c] = classes & character::kSpace         ? AsciiKind::kSpace
               : classes & character::kPunctuation ? AsciiKind::kPunctuation
                                                   : AsciiKind::kLetter;
  }
  return kinds;
}

const std::array<AsciiKind, 256>& ascii_kinds() {
  static const std::array<AsciiKind, 256> kInds = make_ascii_kinds();
  return kInds;
}

}  // namespace

BertTokenizer::BertTokenizer(const Vocabulary& vocabulary, bool cased)
    : vocabulary_(&vocabulary), cased_(cased), normalizer_(cased) {
  const auto unknown = vocabulary.find("[UNK]");
  if (!unknown) throw DataError("error: the vocabulary has no line [UNK]");
  unknown_ = *unknown;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const auto id = vocabulary.find(name)) specials_.push_back({name, *id});
  }
  for (std::size_t c = 0; c < 128; ++c) {
    const char text = static_cast<char>(c);
    punctuation_ids_[c] = vocabulary.find({&text, 1}).value_or(unknown_);
    folded_[c] = static_cast<unsigned char>(!cased && c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
}

void BertTokenizer::encode(std::string_view text, TokenizedText& tokens) {
  std::size_t position = 0;
  std::int32_t number = 0;
  while (position < text.size()) {
    const auto found = find_special(text, position);
    encode_section(text.substr(position, (found ? found->position : text.size()) - position), number, tokens);
    if (!found) return;
    const auto length = static_cast<std::int32_t>(found->special->text.size());
    tokens.ids.push_back(found->special->id);
    tokens.offsets.push_back({number, number + length});
    number += length;
    position = found->position + found->special->text.size();
  }
}

std::optional<BertTokenizer::Found> BertTokenizer::find_special(std::string_view text, std::size_t from) const {
  for (std::size_t at = text.find('[', from); at != std::string_view::npos; at = text.find('[', at + 1)) {
    for (const Special& special : specials_) {
      if (text.substr(at).starts_with(special.text)) return Found{at, &special};
    }
  }
  return std::nullopt;
}

/// Processes ASCII word by word; a word with any other character goes to encode_mixed, with everything up to the next ASCII
/// space: nothing there acts across such a space.
void BertTokenizer::encode_section(std::string_view text, std::int32_t& number, TokenizedText& tokens) {
  const auto& kinds = ascii_kinds();
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t begin = position;
    const AsciiKind first = kinds[byte(position)];
    if (first == AsciiKind::kSpace) {
      ++position;
      ++number;
      continue;
    }
    if (first == AsciiKind::kPunctuation && (position + 1 == text.size() || kinds[byte(position + 1)] != AsciiKind::kOther)) {
      tokens.ids.push_back(punctuation_ids_[byte(position)]);
      tokens.offsets.push_back({number, number + 1});
      ++position;
      ++number;
      continue;
    }
    std::uint64_t hash = 0;
    word_.clear();
    while (position < text.size() && kinds[byte(position)] == AsciiKind::kLetter) {
      const unsigned char folded = folded_[byte(position++)];
      hash = WordCache::hash_step(hash, folded);
      word_.push_back(static_cast<char>(folded));
    }
    const bool is_mixed = position == begin || (position < text.size() && kinds[byte(position)] == AsciiKind::kOther);
    if (is_mixed) {
      while (position < text.size() && kinds[byte(position)] != AsciiKind::kSpace) ++position;
      const std::string_view mixed = text.substr(begin, position - begin);
      encode_mixed(mixed, number, tokens);
      number += count_code_points(mixed);
      continue;
    }
    std::span<const WordPiece> pieces = cache_.find(word_, hash);
    if (pieces.empty()) {
      pieces = split_word(word_, static_cast<std::int32_t>(word_.size()));
      cache_.put(word_, hash, pieces);
    }
    for (const WordPiece& piece : pieces) {
      tokens.ids.push_back(piece.id);
      tokens.offsets.push_back({number, number + piece.characters});
      number += piece.characters;
    }
  }
}

void BertTokenizer::encode_mixed(std::string_view text, std::int32_t first, TokenizedText& tokens) {
  const CharacterTable& table = CharacterTable::instance();
  const std::vector<AlignedCharacter>& characters = normalizer_.normalize(text, first);
  const AlignedCharacter* begin = characters.data();
  const AlignedCharacter* const end = begin + characters.size();
  for (const AlignedCharacter* at = begin; at < end; ++at) {
    const std::uint8_t classes = table.classes(at->code_point);
    if (!(classes & (character::kSpace | character::kPunctuation))) continue;
    emit_word(begin, at, tokens);
    if (classes & character::kPunctuation) emit_word(at, at + 1, tokens);
    begin = at + 1;
  }
  emit_word(begin, end, tokens);
}

void BertTokenizer::emit_word(const AlignedCharacter* begin, const AlignedCharacter* end, TokenizedText& tokens) {
  if (begin == end) return;
  word_.clear();
  for (const AlignedCharacter* at = begin; at < end; ++at) append_utf8(word_, at->code_point);
  const std::uint64_t hash = WordCache::hash_of(word_);
  std::span<const WordPiece> pieces = cache_.find(word_, hash);
  if (pieces.empty()) {
    pieces = split_word(word_, static_cast<std::int32_t>(end - begin));
    cache_.put(word_, hash, pieces);
  }
  const AlignedCharacter* at = begin;
  for (const WordPiece& piece : pieces) {
    tokens.ids.push_back(piece.id);
    tokens.offsets.push_back({at->begin, at[piece.characters - 1].end});
    at += piece.characters;
  }
}

/// Greedy: the longest piece first. All or nothing: a word with an unknown rest is one [UNK].
std::vector<WordPiece>& BertTokenizer::split_word(std::string_view word, std::int32_t characters) {
  pieces_.clear();
  bool is_known = characters <= kMostWordCharacters;
  for (std::size_t position = 0; is_known && position < word.size();) {
    const Vocabulary::Match match = vocabulary_->longest(word.substr(position), position > 0);
    is_known = match.id >= 0;
    if (is_known) pieces_.push_back({match.id, count_code_points(word.substr(position, match.bytes))});
    position += match.bytes;
  }
  if (!is_known) pieces_.assign(1, {unknown_, characters});
  return pieces_;
}

}  // namespace hpcbench::train
