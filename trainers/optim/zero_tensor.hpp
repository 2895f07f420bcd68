#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <memory>

#include "kernels/zero_pages.hpp"

namespace hpcbench::train {

/// Returns zeros on the CPU in untouched memory (kernels::zero_pages()).
inline at::Tensor untouched_zeros(at::IntArrayRef sizes, const at::TensorOptions& options, kernels::Pages kind) {
  const auto count = static_cast<std::size_t>(c10::multiply_integers(sizes));
  const std::shared_ptr<void> pages = kernels::zero_pages(count * options.dtype().itemsize(), kind);
  return at::from_blob(
      pages.get(), sizes, [pages](void*) {}, options);
}

}  // namespace hpcbench::train
