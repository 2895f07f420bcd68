#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/bert_squad/bert_row_sums.hpp"
#include "tasks/bert_squad/bert_rows.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// Settings for the numbers of a batch.
struct BertNumbersForm {
  bool pad_in_softmax = true;  // as in BertOptions
  /// Rows of different sizes are filled up to a multiple of this many tokens: by padding that forms its own stretch, attends
  /// only to itself, and enters no loss.
  std::int64_t tokens_multiple = 1;
  /// Sizes depend only on the rows' sizes, not on their words or lengths, as far as possible: see `shape`.
  bool is_fixed = false;
  const DropoutKey* dropout = nullptr;  // null: no dropout
};

/// The whole numbers of a batch for a pass by LibTorch's operators and its loss. They lie side by side, so that one copy moves
/// all of them to the device: `packed`, on the host; lie_in() sets where it was copied to.
struct BertNumbers {
  /// `rows` is the checked form of `batch`.
  BertNumbers(const BertBatch& batch, const BertRows& rows, const BertConfig& config, const BertNumbersForm& form);
  BertNumbers(const BertNumbers&) = delete;
  BertNumbers& operator=(const BertNumbers&) = delete;

  /// Makes the tensors below views of `there`, a copy of `packed`.
  void lie_in(const at::Tensor& there);

  at::Tensor packed;  // int64
  /// Sizes, and the other inputs of a pass from the host. For two batches of one shape the device's attention and all operators
  /// do the same work, on other numbers (attention's plain form also reads the stretches of `rows` from the host).
  std::vector<std::int64_t> shape;

  at::Tensor ids, positions, types;  // int64 [tokens]; including filling tokens, as everywhere below
  at::Tensor token_keys;             // int64 [tokens]: equal to those of BertRows, bit for bit
  at::Tensor site_keys;              // int64: those of kernels::DropoutSite, by their numbers; undefined without dropout
  /// The tokens that looked up each row of the tables of words, positions and types, one table after the other. Padding's word
  /// gets no gradient.
  RowSums look_ups;
  VarlenRows rows;

  // Positions of the loss in the logits.
  static constexpr std::int64_t kIgnored = -100;
  static constexpr float kNeverChosen = -1e30F;
  std::int64_t widest = 0;  // maximum number of competing positions in a row
  bool in_order = true;     // every position of every row competes, and all rows are of one size
  at::Tensor gold;          // [rows * 2]: a row's start and end, kIgnored if it does not count
  at::Tensor from;          // [rows * 2, widest]: the positions in the logits of the competitors of gold's entry
  at::Tensor beyond;        // float, like `from`: added to the logits: kNeverChosen beyond a row's positions
  at::Tensor slots;         // int32: the position in `from` of each competing logit
  at::Tensor slot_begins;   // int32 [tokens * 2]: the position in `slots` of a logit's slot, if it has one

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
