#include "tasks/bert_squad/squad_batch.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace hpcbench::train {

namespace {

std::int64_t row_size(const RowLayout& layout, std::int64_t length, std::int64_t longest) {
  switch (layout.padding) {
    case Padding::max:
      return layout.max_length;
    case Padding::longest:
    case Padding::grouped:
      return longest;
    case Padding::none:
      break;
  }
  return length;
}

}  // namespace

BertBatch make_bert_batch(const SquadFeatures& features, std::span<const std::int64_t> numbers, const RowLayout& layout,
                          std::int64_t first_position, std::int64_t stride) {
  std::vector<Feature> rows;
  std::int64_t longest = 0;
  for (const std::int64_t number : numbers) {
    rows.push_back(features[number]);
    longest = std::max(longest, std::ssize(rows.back().input_ids));
  }
  BertBatch batch;
  batch.row_begin.push_back(0);
  for (const Feature& row : rows)
    batch.row_begin.push_back(batch.row_begin.back() + row_size(layout, std::ssize(row.input_ids), longest));
  // [PAD] is number 0, and padding is of type 0.
  batch.tokens = at::zeros({batch.row_begin.back()}, at::kLong);
  batch.types = at::zeros({batch.row_begin.back()}, at::kLong);
  auto* const tokens = batch.tokens.data_ptr<std::int64_t>();
  auto* const types = batch.types.data_ptr<std::int64_t>();
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const Feature& row = rows[index];
    const std::int64_t begin = batch.row_begin[index];
    const auto length = std::ssize(row.input_ids);
    std::copy(row.input_ids.begin(), row.input_ids.end(), tokens + begin);
    std::fill(types + begin + row.context_begin, types + begin + length, std::int64_t{1});
    batch.lengths.push_back(length);
    batch.places.push_back(first_position + static_cast<std::int64_t>(index) * stride);
    const bool at_padded_end =
        layout.padding == Padding::max && layout.pad_in_softmax && row.start_position > 0 && row.start_position == length - 1;
    batch.starts.push_back(at_padded_end ? layout.max_length - 1 : row.start_position);
    batch.ends.push_back(row.end_position);
  }
  return batch;
}

}  // namespace hpcbench::train
