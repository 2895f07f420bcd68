#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <zlib.h>

#include "base/error.hpp"
#include "tasks/bert_squad/text/bert_tokenizer.hpp"
#include "tasks/bert_squad/text/normalizer.hpp"
#include "tasks/bert_squad/text/utf8.hpp"
#include "trainers/squad/features_fixture.hpp"

namespace hpcbench::train {

namespace {

using Offsets = std::vector<TokenOffset>;
using Ids = std::vector<std::int32_t>;

const Vocabulary& real_vocabulary() {
  static const Vocabulary vocabulary = Vocabulary::read(squad_test::kVocabulary);
  return vocabulary;
}

TokenizedText tokenized(const Vocabulary& vocabulary, const std::string& text, bool cased = false) {
  TokenizedText tokens;
  BertTokenizer(vocabulary, cased).encode(text, tokens);
  return tokens;
}

std::string normalised(const std::string& text, bool cased) {
  Normalizer normalizer(cased);
  std::string result;
  for (const AlignedCharacter& character : normalizer.normalize(text, 0)) append_utf8(result, character.code_point);
  return result;
}

std::string utf8_of(const std::vector<std::uint32_t>& code_points) {
  std::string text;
  for (const std::uint32_t code_point : code_points) append_utf8(text, code_point);
  return text;
}

/// Texts that mix ASCII, marks, characters that decompose, and everything else.
std::string any_text() {
  const auto code_point = rc::gen::weightedOneOf<std::uint32_t>(
      {{6, rc::gen::inRange<std::uint32_t>(0x20, 0x7f)},
       {2, rc::gen::inRange<std::uint32_t>(0x300, 0x370)},
       {2, rc::gen::inRange<std::uint32_t>(0xa0, 0x250)},
       {1,
        rc::gen::elementOf(std::vector<std::uint32_t>{' ', '[', ']', 0, 0x85, 0x4e00, 0x130, 0xac01, 0x93c, 0x1d165, 0xfffd})},
       {2, rc::gen::map(rc::gen::inRange<std::uint32_t>(0, 0x110000 - 0x800),
                        [](std::uint32_t c) { return c < 0xd800 ? c : c + 0x800; })}});
  return utf8_of(*rc::gen::container<std::vector<std::uint32_t>>(code_point));
}

}  // namespace

TEST_CASE("the longest piece first, all or nothing") {
  // ids:                                      0        1        2     3      4       5        6       7    8
  const Vocabulary vocabulary = Vocabulary::of({"[UNK]", "[CLS]", "un", "##a", "##aff", "##able", "##ffa", "a", "##"});
  CHECK(tokenized(vocabulary, "unaffable").ids == Ids{2, 4, 5});
  CHECK(tokenized(vocabulary, "unaffable").offsets == Offsets{{0, 2}, {2, 5}, {5, 9}});
  CHECK(tokenized(vocabulary, "una una").offsets == Offsets{{0, 2}, {2, 3}, {4, 6}, {6, 7}});
  CHECK(tokenized(vocabulary, "unaffx a").ids == Ids{0, 7});
  CHECK(tokenized(vocabulary, "unaffx a").offsets == Offsets{{0, 6}, {7, 8}});
  CHECK(tokenized(vocabulary, "").ids.empty());
  CHECK(tokenized(vocabulary, " \t\n").ids.empty());
  CHECK(vocabulary.size() == 9);
  CHECK(tokenized(Vocabulary::of({"[UNK]", "a", "a"}), "a").ids == Ids{2});  // the last line counts
  CHECK(tokenized(Vocabulary::of({"[UNK]", "a"}), "aa").ids == Ids{0});      // no piece continues a word
}

TEST_CASE("words of more than 100 characters are unknown, however they are written") {
  std::vector<std::string> pieces = {"[UNK]", "a", "##a", "\u00e9", "##\u00e9"};
  const Vocabulary vocabulary = Vocabulary::of(pieces);
  CHECK(tokenized(vocabulary, std::string(100, 'a')).ids.size() == 100);
  CHECK(tokenized(vocabulary, std::string(101, 'a')).ids == Ids{0});
  CHECK(tokenized(vocabulary, std::string(101, 'a')).offsets == Offsets{{0, 101}});
  std::string accented;
  for (int i = 0; i < 100; ++i) accented += "\u00e9";
  CHECK(tokenized(vocabulary, accented, true).ids.size() == 100);  // 200 bytes, 100 characters
  CHECK(tokenized(vocabulary, accented, true).offsets.back() == TokenOffset{99, 100});
}

TEST_CASE("special tokens in the text are those tokens") {
  const Vocabulary vocabulary = Vocabulary::of({"[UNK]", "[SEP]", "[MASK]", "[", "]", "sep", "a"});
  CHECK(tokenized(vocabulary, "a[SEP]a").ids == Ids{6, 1, 6});
  CHECK(tokenized(vocabulary, "a[SEP]a").offsets == Offsets{{0, 1}, {1, 6}, {6, 7}});
  CHECK(tokenized(vocabulary, "[sep]").ids == Ids{3, 5, 4});
  CHECK(tokenized(vocabulary, "[[MASK]]").ids == Ids{3, 2, 4});
  CHECK(tokenized(vocabulary, "\u00e9[UNK]").offsets == Offsets{{0, 1}, {1, 6}});
  CHECK(tokenized(vocabulary, "[SEP").ids == Ids{3, 5});
}

TEST_CASE("offsets are code points of the text, whatever vanishes from it") {
  const Vocabulary vocabulary = Vocabulary::of({"[UNK]", "ab", "##c", "\u5317", "!", "a"});
  CHECK(tokenized(vocabulary, "\u00c1bc").offsets == Offsets{{0, 2}, {2, 3}});   // one code point with its accent
  CHECK(tokenized(vocabulary, "A\u0301bc").offsets == Offsets{{0, 3}, {3, 4}});  // an accent of its own
  CHECK(tokenized(vocabulary, "a\u200bbc").offsets == Offsets{{0, 3}, {3, 4}});  // a format character
  CHECK(tokenized(vocabulary, "a\u5317a!").offsets == Offsets{{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  CHECK(tokenized(vocabulary, "a\u5317a!").ids == Ids{5, 3, 5, 4});
  CHECK(tokenized(vocabulary, "\U0001f468 a").offsets == Offsets{{0, 1}, {2, 3}});  // beyond the BMP: still one
  CHECK(tokenized(vocabulary, "!\u0301a").offsets == Offsets{{0, 1}, {2, 3}});      // punctuation loses its mark
}

TEST_CASE("characters are classed as tokenizers classes them") {
  CHECK(normalised("\u0130\u0131 \u1e9e \u03a3\u03a3", false) == "i\u0131 \u00df \u03c3\u03c3");  // no final sigma
  CHECK(normalised("\u0130 \u00e9", true) == "\u0130 \u00e9");
  CHECK(normalised(std::string("a\0b\x7f"
                               "c\x0b",
                               6) +
                       "\u0085\u00ad\ufeff\ufffd\ue000",
                   false) == "abc");
  CHECK(normalised("a\tb\u00a0c\u3000", false) == "a b c ");
  CHECK(normalised("\u5317\uf900", true) == " \u5317  \uf900 ");
  CHECK(normalised("\ud55c", false) == "\u1112\u1161\u11ab");  // Hangul decomposes
  for (const char* text : {"$", "+", "^", "|", "~", "`", "<", "=", ">"})
    CHECK(tokenized(real_vocabulary(), std::string("a") + text + "b").ids.size() == 3);
  CHECK(normalised("\u0378", false) == "\u0378");  // unassigned: kept
}

TEST_CASE("every code point, alone and between combining marks, normalises like Hugging Face's BertNormalizer") {
  const auto rows = nlohmann::json::parse(squad_test::read_text(squad_test::kGolden + "code_points.json"));
  for (const auto& row : rows) {
    const std::string before = row["before"];
    const std::string after = row["after"];
    Normalizer normalizer(row["cased"].get<bool>());
    std::string result;
    for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
      if (code_point >= 0xd800 && code_point < 0xe000) continue;
      if (code_point > 0) result += '\n';
      std::string text = before;
      append_utf8(text, code_point);
      for (const AlignedCharacter& character : normalizer.normalize(text + after, 0)) append_utf8(result, character.code_point);
    }
    CHECK(crc32_z(0, reinterpret_cast<const Bytef*>(result.data()), result.size()) == row["crc32"].get<std::uint32_t>());
  }
}

TEST_CASE("texts of all kinds become the tokens of BertTokenizerFast") {
  std::ifstream file(squad_test::kGolden + "tokens.jsonl");
  std::string line;
  int texts = 0;
  while (std::getline(file, line)) {
    const auto row = nlohmann::json::parse(line);
    const TokenizedText tokens = tokenized(real_vocabulary(), row["text"], row["cased"]);
    std::vector<std::int32_t> offsets;
    for (const TokenOffset& offset : tokens.offsets) offsets.insert(offsets.end(), {offset.begin, offset.end});
    CAPTURE(line);
    CHECK(tokens.ids == row["ids"].get<Ids>());
    CHECK(offsets == row["offsets"].get<std::vector<std::int32_t>>());
    ++texts;
  }
  CHECK(texts > 300);
}

TEST_CASE("properties of tokens") {
  REQUIRE(rc::check("texts on both sides of a space do not know of each other", [] {
    const bool cased = *rc::gen::arbitrary<bool>();
    const std::string left = any_text();
    const std::string right = any_text();
    BertTokenizer tokenizer(real_vocabulary(), cased);
    TokenizedText joined;
    TokenizedText apart;
    tokenizer.encode(left + " " + right, joined);
    tokenizer.encode(left, apart);
    const std::size_t left_tokens = apart.ids.size();
    tokenizer.encode(right, apart);
    for (std::size_t i = left_tokens; i < apart.ids.size(); ++i) {
      apart.offsets[i].begin += count_code_points(left) + 1;
      apart.offsets[i].end += count_code_points(left) + 1;
    }
    RC_ASSERT(joined.ids == apart.ids);
    RC_ASSERT(joined.offsets == apart.offsets);
  }));
  REQUIRE(rc::check("offsets rise and stay inside", [] {
    const std::string text = any_text();
    const TokenizedText tokens = tokenized(real_vocabulary(), text);
    std::int32_t before = 0;
    for (const TokenOffset& offset : tokens.offsets) {
      RC_ASSERT(before <= offset.begin);
      RC_ASSERT(offset.begin <= offset.end);
      before = offset.begin;
    }
    if (!tokens.offsets.empty()) RC_ASSERT(tokens.offsets.back().end <= count_code_points(text));
    RC_ASSERT(tokens.ids.size() == tokens.offsets.size());
  }));
  REQUIRE(rc::check("a word of ASCII is the same word with a mark that is dropped", [] {
    const auto word = *rc::gen::nonEmpty(rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::inRange('a', '{'), rc::gen::inRange('A', '['), rc::gen::inRange('0', ':'))));
    RC_ASSERT(tokenized(real_vocabulary(), word).ids == tokenized(real_vocabulary(), word + "\u0301").ids);
  }));
}

TEST_CASE("the cache of words may be emptied at any time") {
  BertTokenizer tokenizer(real_vocabulary(), false);
  TokenizedText first;
  tokenizer.encode("unaffable accommodation", first);
  for (int i = 0; i < 70000; ++i) {
    TokenizedText ignored;
    tokenizer.encode("w" + std::to_string(i), ignored);
  }
  TokenizedText again;
  tokenizer.encode("unaffable accommodation", again);
  CHECK(first.ids == again.ids);
}

TEST_CASE("UTF-8 is read as it is written") {
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (code_point == 0xd800) code_point = 0xe000;
    std::string text;
    append_utf8(text, code_point);
    std::size_t position = 0;
    if (next_code_point(text, position) != code_point || position != text.size()) FAIL(code_point);
  }
  for (const std::string text : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                 "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x28\xa1"}) {
    CAPTURE(text);
    CHECK(first_invalid_utf8("ab" + text) == 2);
  }
  CHECK(first_invalid_utf8("\u00e9\U0001f600") == std::nullopt);
}

TEST_CASE("a vocabulary that is none is refused with its line") {
  const TemporaryFolder folder;
  const std::string path = folder / "vocab.txt";
  const auto error_for = [&](const std::string& text) {
    squad_test::write_text(path, text);
    return squad_test::thrown_by([&] { Vocabulary::read(path); });
  };
  CHECK(error_for("[CLS]\n[UNK]\nx\n") ==
        "error: the vocabulary " + path + " (3 lines) has no line [SEP]; is it a vocab.txt of BERT?");
  CHECK(error_for("[CLS]\nx\xff\n") == "error: " + path + ":2: this line of the vocabulary is no UTF-8");
  CHECK(error_for("").find("(0 lines) has no line [CLS]") != std::string::npos);
  CHECK(error_for("[CLS]\r\n[SEP]\r\n[UNK]\r\n").empty());
  CHECK(squad_test::thrown_by([] { Vocabulary::read("/no/such/vocab.txt"); }).find("cannot be read: No such file") !=
        std::string::npos);
}

}  // namespace hpcbench::train
