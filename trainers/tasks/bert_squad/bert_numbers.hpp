#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/bert_squad/bert_row_sums.hpp"
#include "tasks/bert_squad/bert_rows.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// The whole numbers that a pass by LibTorch's operators and its loss need of a batch. They lie side by side, so that one copy
/// takes all of them to the device.
struct BertNumbers {
  /// `batch` is what `rows` was checked from. Rows of different sizes are filled up to a multiple of `tokens_multiple` tokens:
  /// by padding that is a stretch of its own, asks itself alone, and comes into no loss.
  BertNumbers(const BertBatch& batch, const BertRows& rows, const BertConfig& config, bool pad_in_softmax, at::Device place,
              std::int64_t tokens_multiple = 1);

  at::Tensor ids, positions, types;  // int64 [tokens]; with what fills up, as all that is said to be of tokens
  at::Tensor token_keys;             // int64 [tokens]: those of BertRows, bit for bit
  /// Which tokens looked at each row of the tables of words, positions and types, one below the other. Padding's word gets no
  /// gradient.
  RowSums lookers;
  VarlenRows rows;

  // Where the loss looks in the logits.
  static constexpr std::int64_t kIgnored = -100;
  static constexpr float kNeverChosen = -1e30F;
  std::int64_t widest = 0;  // most positions that compete in a row
  bool in_order = true;     // every position of every row competes, and all rows are of one size
  at::Tensor gold;          // [rows * 2]: a row's start and end, kIgnored where it does not count
  at::Tensor from;          // [rows * 2, widest]: where in the logits, as they lie, those that compete for gold's entry stand
  at::Tensor beyond;        // float, as `from`: what is added to them: kNeverChosen where a row has no position any more
  at::Tensor slots;         // int32: where in `from` each logit that competes stands
  at::Tensor slot_begins;   // int32 [tokens * 2]: where a logit's slot, if it has one, stands in `slots`
};

}  // namespace hpcbench::train
