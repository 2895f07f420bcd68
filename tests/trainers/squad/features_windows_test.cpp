#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "files/content_hash.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"
#include "tasks/bert_squad/data/windows.hpp"

namespace hpcbench::train {

namespace {

using Windows = std::vector<TokenWindow>;

/// [CLS] q [SEP] and context tokens of two characters with a space between: [0, 2), [3, 5), ... then [SEP].
std::vector<TokenOffset> offsets_with_context(int first_word, int words) {
  std::vector<TokenOffset> offsets = {{0, 0}, {0, 1}, {0, 0}};
  for (int i = first_word; i < first_word + words; ++i) offsets.push_back({3 * i, 3 * i + 2});
  offsets.push_back({0, 0});
  return offsets;
}

ContentHash::Digest digest_of(const std::string& text) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.digest();
}

}  // namespace

TEST_CASE("windows share the stride and end with the first that reaches the end") {
  CHECK(context_windows(10, 10, 4) == Windows{{0, 10}});
  CHECK(context_windows(11, 10, 4) == Windows{{0, 10}, {6, 11}});
  CHECK(context_windows(16, 10, 4) == Windows{{0, 10}, {6, 16}});
  CHECK(context_windows(17, 10, 4) == Windows{{0, 10}, {6, 16}, {12, 17}});
  CHECK(context_windows(5, 2, 0) == Windows{{0, 2}, {2, 4}, {4, 5}});
  CHECK(context_windows(1, 300, 128) == Windows{{0, 1}});
  REQUIRE(rc::check("all tokens are covered", [] {
    const int room = *rc::gen::inRange(1, 40);
    const int stride = *rc::gen::inRange(0, room);
    const int tokens = *rc::gen::inRange(1, 400);
    const Windows windows = context_windows(tokens, room, stride);
    RC_ASSERT(windows.front().begin == 0);
    RC_ASSERT(windows.back().end == tokens);
    for (std::size_t i = 1; i < windows.size(); ++i) {
      RC_ASSERT(windows[i].begin == windows[i - 1].end - stride);
      RC_ASSERT(windows[i - 1].end - windows[i - 1].begin == room);
      RC_ASSERT(windows[i - 1].end < tokens);
    }
  }));
}

TEST_CASE("answers with known tokens") {
  const auto offsets = offsets_with_context(0, 4);  // context tokens 3, 4, 5, 6 at [0, 2) [3, 5) [6, 8) [9, 11)
  CHECK(answer_position(offsets, 3, 3, 5) == AnswerPosition{4, 4});
  CHECK(answer_position(offsets, 3, 3, 8) == AnswerPosition{4, 5});
  CHECK(answer_position(offsets, 3, 4, 7) == AnswerPosition{4, 5});  // begins and ends within tokens
  CHECK(answer_position(offsets, 3, 0, 11) == AnswerPosition{3, 6});
  CHECK(answer_position(offsets, 3, 9, 12) == AnswerPosition{0, 0});  // ends behind the window
  const auto later = offsets_with_context(2, 2);                      // tokens 3, 4 at [6, 8) [9, 11)
  CHECK(answer_position(later, 3, 3, 8) == AnswerPosition{0, 0});     // begins before it
  CHECK(answer_position(later, 3, 6, 8) == AnswerPosition{3, 3});
}

TEST_CASE("an answer that begins in the last token of its window starts at the last token of the feature, as in run_qa") {
  const auto offsets = offsets_with_context(0, 4);
  CHECK(answer_position(offsets, 3, 9, 11) == AnswerPosition{7, 6});
  const std::vector<std::int32_t> ids(8, 0);
  Feature feature{0, ids, 3, offsets, 7, 6};
  CHECK(padded_start_position(feature, 384) == 383);
  feature.start_position = 4;
  CHECK(padded_start_position(feature, 384) == 4);
}

TEST_CASE("the hash of contents tells them apart, however they are fed") {
  REQUIRE(rc::check("in parts as in one", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto parts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 50));
    ContentHash hash;
    std::size_t position = 0;
    for (const std::size_t part : parts) {
      const std::size_t taken = std::min(part, text.size() - position);
      hash.add(std::as_bytes(std::span(text).subspan(position, taken)));
      position += taken;
    }
    hash.add(std::as_bytes(std::span(text).subspan(position)));
    RC_ASSERT(hash.digest() == digest_of(text));
  }));
  std::vector<ContentHash::Digest> digests;
  for (int length = 0; length < 70; ++length) {
    digests.push_back(digest_of(std::string(static_cast<std::size_t>(length), '\0')));
    for (int bit = 0; bit < 8 * length; bit += 3) {
      std::string text(static_cast<std::size_t>(length), '\0');
      text[static_cast<std::size_t>(bit / 8)] = static_cast<char>(1 << bit % 8);
      digests.push_back(digest_of(text));
    }
  }
  const std::size_t count = digests.size();
  std::sort(digests.begin(), digests.end());
  CHECK(std::unique(digests.begin(), digests.end()) - digests.begin() == static_cast<std::ptrdiff_t>(count));
  CHECK(hex_of({0x0123456789abcdefULL, 0xfULL}) == "0123456789abcdef000000000000000f");
}

}  // namespace hpcbench::train
