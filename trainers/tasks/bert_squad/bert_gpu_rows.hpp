#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu_program.hpp"
#include "kernels/bert_hash.hpp"
#include "tasks/bert_squad/bert_config.hpp"

namespace hpcbench::train {

/// Why the kernels of kernels/gpu do not take a model of this size: `hidden_size is 100, but ...`; empty: they do.
std::string why_no_bert_kernels(const BertConfig& config);

/// The kernels for a model of this size, for the process's current GPU and later ones. InputError for a size that they do not
/// take, naming `kernels: torch`; std::runtime_error as compile_gpu_program().
std::shared_ptr<const GpuProgram> compile_bert_kernels(const BertConfig& config, bool bf16);

/// Dropout in front of a normalisation: what is drawn of each token (kernels::row_key()). The keys are those on the GPU, so
/// that a launch that is captured draws anew each time.
struct GpuDropout {
  kernels::DropoutSite site;  // but for its key
  at::Tensor token_keys;      // int64 [rows], on the GPU
  at::Tensor site_keys;       // int64, on the GPU: those of all sites, by their numbers
};

/// What BertGpuRows::norm() makes, of which backward needs the last two.
struct GpuNorm {
  at::Tensor y;           // [rows, hidden]: `sum` normalised
  at::Tensor sum;         // [rows, hidden]: x after dropout, plus the residual
  at::Tensor statistics;  // fp32 [2, rows]: the mean of `sum`, and 1 / its standard deviation
};

/// `partial`, here and below: fp32 [some, columns], whose columns' sums are meant; see BertGpuRows::sums().
struct GpuNormGradients {
  at::Tensor of_sum, of_x;  // [rows, hidden]: by the residual, and by x
  at::Tensor partial;       // 3 * hidden columns: the derivatives by gamma and beta, and the sums of the columns of `of_x`
};

/// A matrix, and the sums of its columns.
struct GpuSummed {
  at::Tensor matrix, partial;
};

/// What a layer of BERT does between its products, in one pass over memory each. All matrices are contiguous, begin at
/// a multiple of 16 bytes, and are bf16 or fp32 as the program was compiled for, on one GPU.
class BertGpuRows {
 public:
  explicit BertGpuRows(std::shared_ptr<const GpuProgram> program) : program_(std::move(program)) {}

  /// x is written over.
  GpuNorm norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& gamma, const at::Tensor& beta,
               const GpuDropout& dropout, double eps) const;
  GpuNormGradients norm_backward(const at::Tensor& towards, const GpuNorm& saved, const at::Tensor& gamma,
                                 const GpuDropout& dropout) const;
  /// The derivative by x of gelu(x), which is written over `towards`.
  GpuSummed gelu_backward(const at::Tensor& towards, const at::Tensor& x) const;
  /// [rows, 3 * columns] of three matrices of [rows, columns], whose rows are contiguous: a view where they are parts of one.
  GpuSummed join(const std::array<at::Tensor, 3>& parts) const;

  /// The sums of at most four matrices, fp32, one behind the other, by one launch.
  at::Tensor sums(const std::vector<at::Tensor>& partial) const;

 private:
  GpuGrid column_grid(at::Device place, std::int64_t rows, std::int64_t columns) const;

  std::shared_ptr<const GpuProgram> program_;
};

}  // namespace hpcbench::train
