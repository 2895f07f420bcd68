#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bert_squad/text/normalizer.hpp"
#include "tasks/bert_squad/text/token_offset.hpp"
#include "tasks/bert_squad/text/vocabulary.hpp"
#include "tasks/bert_squad/text/word_cache.hpp"

namespace hpcbench::train {

/// The tokens of a text, without special ones around it.
struct TokenizedText {
  std::vector<std::int32_t> ids;
  std::vector<TokenOffset> offsets;  // code points of the text
};

/// WordPiece like Hugging Face's BertTokenizerFast, uncased (accents are dropped, too) or cased. Special tokens in the text
/// itself, such as "[SEP]", are those tokens; words of more than 100 characters, and words without matching pieces, are [UNK].
/// One per thread: it keeps the words that it has seen. The vocabulary must outlive it.
class BertTokenizer {
 public:
  /// `vocabulary` must have [UNK].
  BertTokenizer(const Vocabulary& vocabulary, bool cased);

  /// Appends the tokens of `text`, which must be valid UTF-8.
  void encode(std::string_view text, TokenizedText& tokens);

 private:
  struct Special {
    std::string text;
    std::int32_t id;
  };
  struct Found {
    std::size_t position;
    const Special* special;
  };
  std::optional<Found> find_special(std::string_view text, std::size_t from) const;
  void encode_section(std::string_view text, std::int32_t& number, TokenizedText& tokens);
  void encode_mixed(std::string_view text, std::int32_t first, TokenizedText& tokens);
  void emit_word(const AlignedCharacter* begin, const AlignedCharacter* end, TokenizedText& tokens);
  std::vector<WordPiece>& split_word(std::string_view word, std::int32_t characters);

  const Vocabulary* vocabulary_;
  bool cased_;
  std::int32_t unknown_;
  std::vector<Special> specials_;
  std::array<std::int32_t, 128> punctuation_ids_{};
  std::array<unsigned char, 128> folded_{};  // lower case, or unchanged
  Normalizer normalizer_;
  WordCache cache_;
  std::vector<WordPiece> pieces_;
  std::string word_;
};

}  // namespace hpcbench::train
