#pragma once

#include <cstdint>
#include <span>

#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"
#include "tasks/bert_squad/squad_settings.hpp"

namespace hpcbench::train {

/// The layout of a batch's rows.
struct RowLayout {
  Padding padding = Padding::max;
  int max_length = 384;
  bool pad_in_softmax = true;
};

/// Returns the features with these numbers as rows: of max_length, of the longest one's length, or (padding none) of their own
/// length. The i-th has the place first_position + i * stride in the step's global batch.
///
/// If an answer begins with the last token of a window's context, Hugging Face's run_qa takes the window's last position as its
/// start: the last [SEP], or, if it pads to max_length, the last padding token. This does the same; if padding does not compete
/// it stays the [SEP].
BertBatch make_bert_batch(const SquadFeatures& features, std::span<const std::int64_t> numbers, const RowLayout& layout,
                          std::int64_t first_position, std::int64_t stride);

}  // namespace hpcbench::train
