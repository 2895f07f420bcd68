#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bert_hash.hpp"
#include "tasks/bert_squad/bert.hpp"

namespace hpcbench::train {

/// A BertBatch that has been checked, with the properties of every token.
struct BertRows {
  std::int64_t tokens = 0;
  std::int64_t count = 0;                 // of rows
  std::vector<std::int64_t> begin;        // count + 1
  std::vector<std::int64_t> keys;         // count: tokens of a row that are no padding
  const std::int64_t* ids = nullptr;      // tokens; borrowed from the batch
  const std::int64_t* types = nullptr;    // tokens
  std::vector<std::int64_t> positions;    // tokens: in their rows, from 0
  std::vector<std::uint64_t> token_keys;  // tokens: for dropout

  std::int64_t size(std::int64_t row) const {
    return begin[static_cast<std::size_t>(row) + 1] - begin[static_cast<std::size_t>(row)];
  }
};

/// InputError names the row and token that do not fit the model: an id beyond the vocabulary, a row longer than the number of
/// positions, empty, or with fewer tokens than `lengths` states.
BertRows check_rows(const BertBatch& batch, const BertConfig& config);

/// The places of the model with dropout, in one step. Without a key all of them are off.
struct BertDropout {
  BertDropout(const DropoutKey* key, const BertConfig& config) : key_(key), config_(config) {}

  kernels::DropoutSite embeddings() const { return site(0, config_.hidden_dropout_prob); }
  kernels::DropoutSite attention(std::int64_t layer) const { return site(1 + 3 * layer, config_.attention_probs_dropout_prob); }
  kernels::DropoutSite attention_output(std::int64_t layer) const { return site(2 + 3 * layer, config_.hidden_dropout_prob); }
  kernels::DropoutSite output(std::int64_t layer) const { return site(3 + 3 * layer, config_.hidden_dropout_prob); }

 private:
  kernels::DropoutSite site(std::int64_t number, double rate) const {
    if (key_ == nullptr) return {};
    return kernels::dropout_site(key_->seed, key_->step, static_cast<std::uint64_t>(number), rate);
  }

  const DropoutKey* key_;
  const BertConfig& config_;
};

/// Returns the place of a row's gold position, or nullopt if it is ignored: it is clamped to [0, n] and ignored at n, the
/// number of competing positions (the row's length, padding included if `pad_in_softmax`).
struct BertTarget {
  std::int64_t competing = 0;
  std::int64_t position = 0;
  bool counted = false;
};
BertTarget bert_target(const BertBatch& batch, bool pad_in_softmax, std::size_t row, bool is_end);

}  // namespace hpcbench::train
