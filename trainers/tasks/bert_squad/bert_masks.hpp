#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/bert_hash.hpp"
#include "tasks/bert_squad/bert_rows.hpp"

namespace hpcbench::train {

/// Returns [keys.size(), width] on `place`: each row equals dropout_mask_row() for its key, bit for bit. On a CPU by that
/// function, on other devices by LibTorch's operators on whole numbers.
at::Tensor bert_mask(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                     at::ScalarType type, at::Device place);

/// Returns the same by operators on any device; `place` may be a CPU.
at::Tensor bert_mask_by_operators(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                                  at::ScalarType type, at::Device place);

/// Appends the keys of a row's queries for the dropout of attention, head by head.
void add_attention_keys(const kernels::DropoutSite& site, const BertRows& rows, std::int64_t row, std::int64_t heads,
                        std::vector<std::uint64_t>& keys);

/// Returns the mask of a row's probabilities, with their sizes: [heads, queries, keys].
at::Tensor bert_attention_mask(const kernels::DropoutSite& site, const BertRows& rows, std::int64_t row,
                               const at::Tensor& probabilities);

}  // namespace hpcbench::train
