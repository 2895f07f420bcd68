#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/bert_squad/bert_row_sums.hpp"
#include "tasks/bert_squad/bert_rows.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// How the numbers of a batch are made.
struct BertNumbersForm {
  bool pad_in_softmax = true;  // as BertOptions has it
  /// Rows of different sizes are filled up to a multiple of so many tokens: by padding that is a stretch of its own, asks
  /// itself alone, and comes into no loss.
  std::int64_t tokens_multiple = 1;
  /// Sizes depend on the rows' sizes alone, not on their words or lengths, as far as that goes: `shape` tells.
  bool is_fixed = false;
  const DropoutKey* dropout = nullptr;  // null: there is none
};

/// The whole numbers that a pass by LibTorch's operators and its loss need of a batch. They lie side by side, so that one copy
/// takes all of them to the device: `packed`, on the host; lie_in() says where it has been copied to.
struct BertNumbers {
  /// `batch` is what `rows` was checked from.
  BertNumbers(const BertBatch& batch, const BertRows& rows, const BertConfig& config, const BertNumbersForm& form);
  BertNumbers(const BertNumbers&) = delete;
  BertNumbers& operator=(const BertNumbers&) = delete;

  /// The tensors below become views of `there`, a copy of `packed`.
  void lie_in(const at::Tensor& there);

  at::Tensor packed;  // int64
  /// Sizes, and what else a pass takes from the host. Of two batches of one shape the device's attention and all operators do
  /// the same work, on other numbers (attention's plain form reads the stretches of `rows` from the host as well).
  std::vector<std::int64_t> shape;

  at::Tensor ids, positions, types;  // int64 [tokens]; with what fills up, as all that is said to be of tokens
  at::Tensor token_keys;             // int64 [tokens]: those of BertRows, bit for bit
  at::Tensor site_keys;              // int64: those of kernels::DropoutSite, by their numbers; undefined without dropout
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

 private:
  /// A tensor's place in `packed`.
  struct Part {
    at::Tensor* tensor;
    std::int64_t begin, places, count;
    at::ScalarType type;
  };
  class Packer;
  void add_targets(Packer& packer, const BertBatch& batch, bool pad_in_softmax, std::int64_t filler);
  std::vector<Part> parts_;
};

}  // namespace hpcbench::train
