#pragma once

#include <cstdint>
#include <span>

#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"
#include "tasks/bert_squad/squad_settings.hpp"

namespace hpcbench::train {

/// How the rows of a batch are laid out.
struct RowLayout {
  Padding padding = Padding::max;
  int max_length = 384;
  bool pad_in_softmax = true;
};

/// The features with these numbers as rows: of max_length, of the longest one's length, or (padding none) of their own. The
/// i-th has the place first_position + i * stride in the step's global batch.
///
/// Hugging Face's run_qa says of an answer that begins with the last token of a window's context that it begins with the
/// window's last position: the last [SEP], or where it pads to max_length the last padded one. So it is here; where padding
/// does not compete it stays the [SEP].
BertBatch make_bert_batch(const SquadFeatures& features, std::span<const std::int64_t> numbers, const RowLayout& layout,
                          std::int64_t first_position, std::int64_t stride);

}  // namespace hpcbench::train
