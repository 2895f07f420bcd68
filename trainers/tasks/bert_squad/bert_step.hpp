#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "kernels/bert_kernels.hpp"
#include "tasks/bert_squad/bert_buffers.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"
#include "tasks/bert_squad/bert_rows.hpp"
#include "tasks/bert_squad/bert_weights.hpp"

namespace hpcbench::train {

/// Data that the fused parts of one forward pass share; backward keeps it alive.
struct BertStep {
  BertConfig config;
  BertOptions options;
  std::shared_ptr<const BertWeights> weights;
  std::shared_ptr<BertBuffers> buffers;
  std::shared_ptr<TouchedRows> touched;  // of the word embeddings
  at::Tensor ids, types;                 // keep alive what `rows` points to
  BertRows rows;
  std::shared_ptr<const BertNumbers> numbers;  // of LibTorch's operators
  std::int64_t padded_rows = 0;                // of all matrices of tokens; rows from rows.tokens on are 0
  kernels::DropoutSite embeddings_site;
  std::vector<kernels::DropoutSite> attention_sites, attention_output_sites, output_sites;  // one a layer
  /// For LibTorch's operators in bf16: the layers' parameters, written again by each pass. It reuses the memory of earlier
  /// passes, because 290 small allocations a step take the host a millisecond.
  std::shared_ptr<std::vector<at::Tensor>> copies;
  at::Tensor matrix;  // bf16: the last layer's output as input of the next one's products

  at::ScalarType matrix_type() const { return options.bf16 ? at::kBFloat16 : options.type; }
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType type) const { return buffers->take(sizes, type); }
};

/// A type of the kernels, and that of the tensors.
template <class T>
inline constexpr at::ScalarType kBertType = at::kDouble;
template <>
inline constexpr at::ScalarType kBertType<float> = at::kFloat;
template <>
inline constexpr at::ScalarType kBertType<kernels::Bf16> = at::kBFloat16;

template <class T>
T* bert_data(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

/// Calls a kernel in parallel for 0 <= i < count, at least `grain` at a time.
template <class Args>
void bert_parallel(void (*kernel)(const Args&, std::int64_t, std::int64_t), const Args& args, std::int64_t count,
                   std::int64_t grain) {
  at::parallel_for(0, count, grain, [&](std::int64_t begin, std::int64_t end) { kernel(args, begin, end); });
}

/// Sets the rows from `first` on to 0.
inline void bert_zero_rows(const at::Tensor& matrix, std::int64_t first) {
  const std::int64_t rows = matrix.size(0) - first;
  if (rows <= 0) return;
  const std::size_t row_bytes = static_cast<std::size_t>(matrix.size(1)) * matrix.element_size();
  std::memset(static_cast<char*>(matrix.data_ptr()) + static_cast<std::size_t>(first) * row_bytes, 0,
              static_cast<std::size_t>(rows) * row_bytes);
}

}  // namespace hpcbench::train
