#pragma once

#include <ATen/core/Tensor.h>

namespace hpcbench::train {

/// The products of the linear layers, out = a b, of 2-D tensors; a or b may be transposed views. fp32 goes to oneDNN where this
/// LibTorch has it for CPUs and the processor has AVX-512: at::mm takes MKL, which on AMD's processors with AVX-512 reaches
/// half of oneDNN's speed (with AVX2 alone both are as fast). fp64 goes to at::mm, bf16 too (which is oneDNN with sums in fp32,
/// on processors that it takes). Another number of threads may give other last bits (docs/trainer.md, "What the processor
/// decides").
void bert_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

/// Returns the number of rows to allocate for `tokens` rows, the additional ones being 0: oneDNN compiles code for each shape,
/// so there should be few.
std::int64_t bert_padded_rows(std::int64_t tokens);

}  // namespace hpcbench::train
