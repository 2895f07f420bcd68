#include "tasks/bert_squad/bert_gpu_rows.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/gpu/source.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

namespace kernels {
#include "kernels/gpu/bert_arguments.inc"
}

namespace {

using kernels::kPiece;

constexpr std::int64_t kMostHidden = 1024;  // more do not fit into the registers of bert_norm's warps

/// Blocks of each multiprocessor: as many as fit at once. Each block of backward writes its own sums.
constexpr std::int64_t kNormBlocks = 8;
constexpr std::int64_t kNormBackwardBlocks = 2;
constexpr std::int64_t kColumnBlocks = 4;

std::int64_t divided_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

std::int64_t threads_of(std::int64_t warps) { return warps * kernels::kLanes; }

at::Tensor in_fp32(at::IntArrayRef sizes, const at::Tensor& like) { return at::empty(sizes, like.options().dtype(at::kFloat)); }

/// Aligned for kernels, which read 16 bytes at a time: a parameter may begin anywhere in a strategy's flat tensor.
at::Tensor aligned(const at::Tensor& tensor) {
  constexpr std::uintptr_t kBytes = 16;
  return reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % kBytes == 0 ? tensor : tensor.clone();
}

const unsigned long long* keys_of(const at::Tensor& keys) { return static_cast<const unsigned long long*>(keys.data_ptr()); }

template <class Arguments>
void set_dropout(Arguments& arguments, const GpuDropout& dropout) {
  if (!dropout.site.on()) return;
  arguments.token_keys = keys_of(dropout.token_keys);
  arguments.site_key = keys_of(dropout.site_keys) + dropout.site.number;
  arguments.threshold = dropout.site.threshold;
  arguments.kept = static_cast<float>(dropout.site.kept);
}

}  // namespace

std::string why_no_bert_kernels(const BertConfig& config) {
  const auto refusal = [](const char* name, std::int64_t size, const char* rule, std::int64_t number) {
    return concat(name, " is ", size, ", but the trainer's kernels for GPUs take ", rule, " ", number);
  };
  if (config.hidden_size % kPiece != 0) return refusal("hidden_size", config.hidden_size, "multiples of", kPiece);
  if (config.hidden_size > kMostHidden) return refusal("hidden_size", config.hidden_size, "at most", kMostHidden);
  if (config.intermediate_size % kPiece != 0)
    return refusal("intermediate_size", config.intermediate_size, "multiples of", kPiece);
  return "";
}

std::shared_ptr<const GpuProgram> compile_bert_kernels(const BertConfig& config, bool bf16) {
  if (const std::string why = why_no_bert_kernels(config); !why.empty())
    throw InputError(concat("error: ", why, ": choose `kernels: torch`"));
  std::vector<std::string> definitions = {concat("HPCBENCH_WIDTH=", config.hidden_size)};
  if (bf16) definitions.emplace_back("HPCBENCH_BF16");
  return compile_gpu_program(kernels::bert_gpu_source(), definitions, at::Device(at::kCUDA));
}

GpuNorm BertGpuRows::norm(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& gamma, const at::Tensor& beta,
                          const GpuDropout& dropout, double eps) const {
  const std::int64_t rows = x.size(0);
  GpuNorm made{at::empty(x.sizes(), x.options()), x, in_fp32({2, rows}, x)};
  const at::Tensor own_gamma = aligned(gamma), own_beta = aligned(beta);
  kernels::BertNormArguments arguments{};
  arguments.x = x.data_ptr();
  arguments.residual = residual.data_ptr();
  arguments.gamma = own_gamma.data_ptr();
  arguments.beta = own_beta.data_ptr();
  arguments.sum = x.data_ptr();
  arguments.y = made.y.data_ptr();
  arguments.mean = made.statistics.data_ptr<float>();
  arguments.reciprocal = arguments.mean + rows;
  set_dropout(arguments, dropout);
  arguments.eps = static_cast<float>(eps);
  arguments.rows = static_cast<int>(rows);
  const std::int64_t most = kNormBlocks * program_->multiprocessors(x.device());
  program_->launch(x.device(), "bert_norm", {std::min(most, divided_up(rows, kernels::kWarps)), 1, threads_of(kernels::kWarps)},
                   &arguments);
  return made;
}

GpuNormGradients BertGpuRows::norm_backward(const at::Tensor& towards, const GpuNorm& saved, const at::Tensor& gamma,
                                            const GpuDropout& dropout) const {
  const std::int64_t rows = towards.size(0), hidden = towards.size(1);
  const std::int64_t most = kNormBackwardBlocks * program_->multiprocessors(towards.device());
  const std::int64_t at_once = kernels::block_rows(static_cast<int>(hidden));
  const std::int64_t blocks = std::min(most, divided_up(rows, at_once));
  const at::Tensor own_gamma = aligned(gamma);
  GpuNormGradients of;
  of.partial = in_fp32({blocks, 3 * hidden}, towards);
  of.of_sum = at::empty(towards.sizes(), towards.options());
  of.of_x = dropout.site.on() ? at::empty(towards.sizes(), towards.options()) : of.of_sum;
  kernels::BertNormBackwardArguments arguments{};
  arguments.towards = towards.data_ptr();
  arguments.sum = saved.sum.data_ptr();
  arguments.gamma = own_gamma.data_ptr();
  arguments.mean = saved.statistics.data_ptr<float>();
  arguments.reciprocal = arguments.mean + rows;
  set_dropout(arguments, dropout);
  arguments.of_sum = of.of_sum.data_ptr();
  arguments.of_x = of.of_x.data_ptr();
  arguments.partial = of.partial.data_ptr<float>();
  arguments.rows = static_cast<int>(rows);
  const std::int64_t threads = threads_of(at_once * kernels::row_warps(static_cast<int>(hidden)));
  program_->launch(towards.device(), "bert_norm_backward", {blocks, 1, threads}, &arguments);
  return of;
}

GpuSummed BertGpuRows::gelu_backward(const at::Tensor& towards, const at::Tensor& x) const {
  const GpuGrid grid = column_grid(x.device(), x.size(0), x.size(1));
  const at::Tensor partial = in_fp32({grid.stripes, x.size(1)}, x);
  kernels::BertGeluBackwardArguments arguments{towards.data_ptr(),          x.data_ptr(),
                                               towards.data_ptr(),          partial.data_ptr<float>(),
                                               static_cast<int>(x.size(0)), static_cast<int>(x.size(1))};
  program_->launch(x.device(), "bert_gelu_backward", grid, &arguments);
  return {towards, partial};
}

GpuSummed BertGpuRows::join(const std::array<at::Tensor, 3>& parts) const {
  const at::Tensor& first = parts[0];
  const std::int64_t rows = first.size(0), columns = first.size(1), stride = first.stride(0);
  at::Tensor joined = joint_view(parts);
  const bool is_one = joined.defined();
  if (!is_one) joined = at::empty({rows, 3 * columns}, first.options());
  const GpuGrid grid = column_grid(first.device(), rows, 3 * columns);
  const at::Tensor partial = in_fp32({grid.stripes, 3 * columns}, first);
  kernels::BertJoinArguments arguments{};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    TORCH_CHECK(parts[part].stride(0) == stride && parts[part].stride(1) == 1, "the parts do not lie alike");
    arguments.parts[part] = parts[part].data_ptr();
  }
  arguments.joined = is_one ? nullptr : joined.data_ptr();
  arguments.partial = partial.data_ptr<float>();
  arguments.rows = static_cast<int>(rows);
  arguments.columns = static_cast<int>(columns);
  arguments.part_stride = static_cast<int>(stride);
  program_->launch(first.device(), "bert_join", grid, &arguments);
  return {joined, partial};
}

at::Tensor BertGpuRows::sums(const std::vector<at::Tensor>& partial) const {
  TORCH_CHECK(partial.size() <= static_cast<std::size_t>(kernels::kBertSums), "too many sums for one launch");
  std::int64_t all_columns = 0, widest = 0;
  for (const at::Tensor& each : partial) {
    all_columns += each.size(1);
    widest = std::max(widest, each.size(1));
  }
  at::Tensor all = in_fp32({all_columns}, partial.front());
  kernels::BertSumArguments arguments{};
  auto* sums = all.data_ptr<float>();
  for (std::size_t number = 0; number < partial.size(); ++number) {
    const at::Tensor& each = partial[number];
    arguments.partial[number] = each.data_ptr<float>();
    arguments.sums[number] = sums;
    arguments.count[number] = static_cast<int>(each.size(0));
    arguments.columns[number] = static_cast<int>(each.size(1));
    sums += each.size(1);
  }
  const GpuGrid grid{divided_up(widest, kernels::kLanes), std::ssize(partial), threads_of(kernels::kSumWarps)};
  program_->launch(all.device(), "bert_sum", grid, &arguments);
  return all;
}

GpuGrid BertGpuRows::column_grid(at::Device place, std::int64_t rows, std::int64_t columns) const {
  const std::int64_t blocks = divided_up(columns, kernels::kTile);
  const std::int64_t most = divided_up(kColumnBlocks * program_->multiprocessors(place), blocks);
  return {blocks, std::min(most, divided_up(rows, kernels::kColumnWarps)), threads_of(kernels::kColumnWarps)};
}

}  // namespace hpcbench::train
