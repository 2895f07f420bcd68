#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/bert_squad/text/token_offset.hpp"

namespace hpcbench::train {

/// Tokens [begin, end) of a context.
struct TokenWindow {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  bool operator==(const TokenWindow&) const = default;
};

/// Returns the windows of at most `room` tokens over a context of `tokens`, each sharing `stride` < `room` tokens with the one
/// before; the last is the first that reaches the end. Source: Encoding::truncate of Hugging Face's tokenizers.
std::vector<TokenWindow> context_windows(std::int32_t tokens, std::int32_t room, std::int32_t stride);

/// The tokens of an answer, by number within a feature.
struct AnswerPosition {
  std::int32_t start = 0;
  std::int32_t end = 0;

  bool operator==(const AnswerPosition&) const = default;
};

/// Returns the tokens of an answer, code points [begin, end) of the context with begin < end, in a feature with these offsets,
/// whose context begins at token `context_begin` and ends before the last token ([SEP], {0, 0}); {0, 0} if it is not completely
/// inside. Source: prepare_train_features of run_qa, including its behaviour at the end of a window (see
/// padded_start_position).
AnswerPosition answer_position(std::span<const TokenOffset> offsets, std::int32_t context_begin, std::int64_t begin,
                               std::int64_t end);

}  // namespace hpcbench::train
