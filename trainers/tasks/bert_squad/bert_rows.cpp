#include "tasks/bert_squad/bert_rows.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

void require_ids(const at::Tensor& ids, const char* what, std::int64_t tokens) {
  if (ids.defined() && ids.scalar_type() == at::kLong && ids.dim() == 1 && ids.size(0) == tokens && ids.is_contiguous() &&
      ids.device().is_cpu())
    return;
  throw InputError(concat("error: a batch's ", what, " must be ", tokens, " contiguous int64 numbers in CPU memory"));
}

void require_below(std::int64_t id, std::int64_t limit, const char* what, std::int64_t row, std::int64_t position) {
  if (id >= 0 && id < limit) return;
  throw InputError(concat("error: ", what, " ", id, " at position ", position, " of row ", row, " of a batch is not below ",
                          limit, ", the size of its embedding"));
}

}  // namespace

BertRows check_rows(const BertBatch& batch, const BertConfig& config) {
  BertRows rows;
  rows.count = std::ssize(batch.lengths);
  if (rows.count == 0 || std::ssize(batch.row_begin) != rows.count + 1 || std::ssize(batch.places) != rows.count ||
      batch.row_begin.front() != 0)
    throw InputError("error: a batch needs at least one row, and a beginning, a length and a place for each");
  rows.begin = batch.row_begin;
  rows.keys = batch.lengths;
  rows.tokens = rows.begin.back();
  require_ids(batch.tokens, "tokens", rows.tokens);
  require_ids(batch.types, "types", rows.tokens);
  rows.ids = batch.tokens.data_ptr<std::int64_t>();
  rows.types = batch.types.data_ptr<std::int64_t>();
  rows.positions.resize(static_cast<std::size_t>(rows.tokens));
  rows.token_keys.resize(static_cast<std::size_t>(rows.tokens));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int64_t size = rows.size(row);
    const std::int64_t keys = rows.keys[static_cast<std::size_t>(row)];
    if (keys < 1 || keys > size || size > config.max_position_embeddings) {
      throw InputError(concat("error: row ", row, " of a batch has ", keys, " tokens in ", size,
                              " places; it must have at least 1, and the model has ", config.max_position_embeddings,
                              " positions"));
    }
    for (std::int64_t position = 0; position < size; ++position) {
      const std::int64_t token = rows.begin[static_cast<std::size_t>(row)] + position;
      require_below(rows.ids[token], config.vocab_size, "token", row, position);
      require_below(rows.types[token], config.type_vocab_size, "token type", row, position);
      rows.positions[static_cast<std::size_t>(token)] = position;
      rows.token_keys[static_cast<std::size_t>(token)] =
          kernels::token_key(batch.places[static_cast<std::size_t>(row)], position);
    }
  }
  return rows;
}

BertTarget bert_target(const BertBatch& batch, bool pad_in_softmax, std::size_t row, bool is_end) {
  const std::vector<std::int64_t>& gold = is_end ? batch.ends : batch.starts;
  if (gold.size() != batch.lengths.size()) throw InputError("error: a batch needs a start and an end for each row");
  const std::int64_t n = pad_in_softmax ? batch.row_begin[row + 1] - batch.row_begin[row] : batch.lengths[row];
  const std::int64_t position = std::clamp<std::int64_t>(gold[row], 0, n);
  return {n, position, position < n};
}

}  // namespace hpcbench::train
