#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tasks/bert_squad/text/unicode.hpp"

namespace hpcbench::train {

/// A code point of a normalised text, and the code points [begin, end) of the original from which it comes.
struct AlignedCharacter {
  char32_t code_point = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// BERT's normaliser, with the alignment of Hugging Face's `tokenizers` (BertNormalizer and NormalizedString): control
/// characters dropped, white space to spaces, spaces around ideographs and, unless `cased`, canonical decomposition, marks
/// dropped, lower case. A part of a decomposition after the first aligns with the preceding character; reordered marks align by
/// their place.
class Normalizer {
 public:
  explicit Normalizer(bool cased) : cased_(cased) {}

  /// Returns the normalised characters of a valid UTF-8 text whose first code point is number `first`; valid until the next
  /// call.
  const std::vector<AlignedCharacter>& normalize(std::string_view text, std::int32_t first);

 private:
  struct Part {
    char32_t code_point;
    int combining_class;
    bool added;  // a further part of its character
  };
  void clean(std::string_view text, std::int32_t first);
  void decompose_all();
  void order_pending(std::size_t begin);

  bool cased_;
  std::vector<AlignedCharacter> characters_;
  std::vector<AlignedCharacter> decomposed_;
  std::vector<Part> parts_;
};

}  // namespace hpcbench::train
