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

/// Returns why the kernels of kernels/gpu do not support a model of this size: `hidden_size is 100, but ...`; empty if they do.
std::string why_no_bert_kernels(const BertConfig& config);

/// Returns the kernels for a model of this size, for the process's current GPU and later ones. InputError for an unsupported
/// size, naming `kernels: torch`; std::runtime_error like compile_gpu_program().
std::shared_ptr<const GpuProgram> compile_bert_kernels(const BertConfig& config, bool bf16);

/// Dropout before a normalisation: the keys of its bits for each token (kernels::row_key()). The keys are on the GPU, so that
/// each replay of a captured launch draws new bits.
struct GpuDropout {
  kernels::DropoutSite site;  // except its key
  at::Tensor token_keys;      // int64 [rows], on the GPU
  at::Tensor site_keys;       // int64, on the GPU: those of all sites, by their numbers
};

/// The result of BertGpuRows::norm(); backward needs the last two fields.
struct GpuNorm {
  at::Tensor y;           // [rows, hidden]: `sum` normalised
  at::Tensor sum;         // [rows, hidden]: x after dropout, plus the residual
  at::Tensor statistics;  // fp32 [2, rows]: the mean of `sum`, and 1 / its standard deviation
};

/// `partial`, here and below: fp32 [some, columns], to be summed over rows; see BertGpuRows::sums().
struct GpuNormGradients {
  at::Tensor of_sum, of_x;  // [rows, hidden]: by the residual, and by x
  at::Tensor partial;       // 3 * hidden columns: the derivatives by gamma and beta, and the sums of the columns of `of_x`
};

/// A matrix, and the sums of its columns.
struct GpuSummed {
  at::Tensor matrix, partial;
};

/// The operations of a BERT layer between its products, in one pass over memory each. All matrices are contiguous, begin at a
/// multiple of 16 bytes, and are bf16 or fp32 as the program was compiled for, on one GPU.
class BertGpuRows {
 public:
  explicit BertGpuRows(std::shared_ptr<const GpuProgram> program) : program_(std::move(program)) {}

  /// Overwrites x.
  GpuNorm norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& gamma, const at::Tensor& beta,
               const GpuDropout& dropout, double eps) const;
  GpuNormGradients norm_backward(const at::Tensor& towards, const GpuNorm& saved, const at::Tensor& gamma,
                                 const GpuDropout& dropout) const;
  /// Returns the derivative by x of gelu(x), and overwrites `towards` with it.
  GpuSummed gelu_backward(const at::Tensor& towards, const at::Tensor& x) const;
  /// Returns [rows, 3 * columns] from three matrices of [rows, columns], whose rows are contiguous: a view if they are parts of
  /// one.
  GpuSummed join(const std::array<at::Tensor, 3>& parts) const;

  /// Returns the sums of at most four matrices, fp32, one behind the other, by one launch.
  at::Tensor sums(const std::vector<at::Tensor>& partial) const;

 private:
  GpuGrid column_grid(at::Device place, std::int64_t rows, std::int64_t columns) const;

  std::shared_ptr<const GpuProgram> program_;
};

}  // namespace hpcbench::train
