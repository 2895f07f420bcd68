#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/bert_hash.hpp"

namespace hpcbench::train {

/// [keys.size(), width] on `place`: in each row what dropout_mask_row() draws from its key, bit for bit. On a CPU by that
/// function, on other devices by LibTorch's operators on whole numbers.
at::Tensor bert_mask(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                     at::ScalarType type, at::Device place);

/// The same by operators on any device; `place` may be a CPU.
at::Tensor bert_mask_by_operators(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                                  at::ScalarType type, at::Device place);

}  // namespace hpcbench::train
