#include "tasks/bert_squad/bert_varlen.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_efficient_attention_backward.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/record_function.h>

#include <cmath>

namespace hpcbench::train {

namespace {

enum class VarlenKernel { plain, flash, efficient };

/// Returns the kernel for attention: the device's kernels draw their own dropout, and require rows of 16 bytes.
VarlenKernel varlen_kernel(at::Device place, at::ScalarType type, std::int64_t width, bool is_hashed) {
  if (!place.is_cuda() || is_hashed) return VarlenKernel::plain;
  if (type == at::kBFloat16 && width % 8 == 0 && width <= 256) return VarlenKernel::flash;
  if (type == at::kFloat && width % 4 == 0) return VarlenKernel::efficient;
  return VarlenKernel::plain;
}

VarlenKernel varlen_kernel(const VarlenSaved& saved, const VarlenDropout& dropout) {
  const at::Tensor& query = saved.query;
  return varlen_kernel(query.device(), query.scalar_type(), query.size(2), dropout.rate > 0 && dropout.is_hashed);
}

/// Returns rows begin..end of a tensor, head by head: [heads, end - begin, width], at least in fp32.
at::Tensor heads_of(const at::Tensor& tokens, std::int64_t begin, std::int64_t end) {
  const at::Tensor part = tokens.narrow(0, begin, end - begin).transpose(0, 1);
  return part.scalar_type() == at::kBFloat16 ? part.to(at::kFloat) : part;
}

double scale_of(const at::Tensor& query) { return 1 / std::sqrt(static_cast<double>(query.size(2))); }

/// The first and last number of a stretch.
struct VarlenSpan {
  std::int64_t begin, end;
};

VarlenSpan span_of(const std::vector<std::int64_t>& begins, std::size_t stretch) {
  return {begins[stretch], begins[stretch + 1]};
}

at::Tensor plain_attention(const VarlenRows& rows, const VarlenDropout& dropout, VarlenSaved& saved) {
  at::Tensor output = at::empty(saved.query.sizes(), saved.query.options());
  for (std::size_t stretch = 0; stretch + 1 < rows.queries.size(); ++stretch) {
    const auto [begin, end] = span_of(rows.queries, stretch);
    const auto [first_key, last_key] = span_of(rows.keys, stretch);
    if (begin == end) continue;  // padding, which no query attends to
    const std::int64_t row = std::ssize(saved.softmax);
    const at::Tensor scores = at::matmul(heads_of(saved.query, begin, end) * scale_of(saved.query),
                                         heads_of(saved.key, first_key, last_key).transpose(1, 2));
    saved.softmax.push_back(at::softmax(scores, -1));
    const at::Tensor& softmax = saved.softmax.back();
    saved.probabilities.push_back(dropout.rate > 0 ? dropout.draw(softmax, row) : Dropped{softmax, {}});
    const at::Tensor context = at::matmul(saved.probabilities.back().value, heads_of(saved.value, first_key, last_key));
    output.narrow(0, begin, end - begin).copy_(context.transpose(0, 1));
  }
  return output;
}

VarlenGradients plain_attention_backward(const VarlenRows& rows, const VarlenDropout& dropout, const VarlenSaved& saved,
                                         const at::Tensor& derivative) {
  const auto like = [](const at::Tensor& tensor) { return at::empty(tensor.sizes(), tensor.options()); };
  VarlenGradients gradients{like(saved.query), like(saved.key), like(saved.value)};
  std::size_t row = 0;
  for (std::size_t stretch = 0; stretch + 1 < rows.queries.size(); ++stretch) {
    const auto [begin, end] = span_of(rows.queries, stretch);
    const auto [first_key, last_key] = span_of(rows.keys, stretch);
    if (begin == end) {
      for (const at::Tensor& each : {gradients.key, gradients.value}) each.narrow(0, first_key, last_key - first_key).zero_();
      continue;
    }
    const at::Tensor& softmax = saved.softmax[row];
    const Dropped& dropped = saved.probabilities[row++];
    const at::Tensor towards = heads_of(derivative, begin, end);
    at::Tensor of_softmax = at::matmul(towards, heads_of(saved.value, first_key, last_key).transpose(1, 2));
    if (dropped.mask.defined()) of_softmax = dropout.draw_backward(of_softmax, dropped.mask);
    const at::Tensor of_scores =
        at::_softmax_backward_data(of_softmax, softmax, -1, softmax.scalar_type()) * scale_of(saved.query);
    const auto put = [](const at::Tensor& all, std::int64_t from, std::int64_t to, const at::Tensor& part) {
      all.narrow(0, from, to - from).copy_(part.transpose(0, 1));
    };
    put(gradients.query, begin, end, at::matmul(of_scores, heads_of(saved.key, first_key, last_key)));
    put(gradients.key, first_key, last_key, at::matmul(of_scores.transpose(1, 2), heads_of(saved.query, begin, end)));
    put(gradients.value, first_key, last_key, at::matmul(dropped.value.transpose(1, 2), towards));
  }
  return gradients;
}

at::Tensor flash_attention(const VarlenRows& rows, double rate, VarlenSaved& saved) {
  auto [output, log_sum, seed, offset, mask] = at::_flash_attention_forward(
      saved.query, saved.key, saved.value, rows.queries_there, rows.keys_there, rows.most_queries, rows.most_keys, rate,
      /*is_causal=*/false, /*return_debug_mask=*/false);
  saved.output = output;
  saved.log_sum = log_sum;
  saved.seed = seed;
  saved.offset = offset;
  return output;
}

VarlenGradients flash_attention_backward(const VarlenRows& rows, double rate, const VarlenSaved& saved,
                                         const at::Tensor& derivative) {
  auto [query, key, value] = at::_flash_attention_backward(
      derivative, saved.query, saved.key, saved.value, saved.output, saved.log_sum, rows.queries_there, rows.keys_there,
      rows.most_queries, rows.most_keys, rate, /*is_causal=*/false, saved.seed, saved.offset);
  return {query, key, value};
}

at::Tensor efficient_attention(const VarlenRows& rows, double rate, VarlenSaved& saved) {
  auto [output, log_sum, seed, offset, most_queries, most_keys] = at::_efficient_attention_forward(
      saved.query.unsqueeze(0), saved.key.unsqueeze(0), saved.value.unsqueeze(0), /*bias=*/std::nullopt, rows.queries_there,
      rows.keys_there, rows.most_queries, rows.most_keys, rate, /*custom_mask_type=*/0, /*compute_log_sumexp=*/true);
  saved.output = output;
  saved.log_sum = log_sum;
  saved.seed = seed;
  saved.offset = offset;
  return output.squeeze(0);
}

VarlenGradients efficient_attention_backward(const VarlenRows& rows, double rate, const VarlenSaved& saved,
                                             const at::Tensor& derivative) {
  auto [query, key, value, bias] = at::_efficient_attention_backward(
      derivative.unsqueeze(0), saved.query.unsqueeze(0), saved.key.unsqueeze(0), saved.value.unsqueeze(0),
      /*bias=*/std::nullopt, saved.output, rows.queries_there, rows.keys_there, rows.most_queries, rows.most_keys,
      saved.log_sum, rate, saved.seed, saved.offset, /*custom_mask_type=*/0, /*bias_requires_grad=*/false,
      /*scale=*/std::nullopt, /*num_splits_key=*/1, /*window_size=*/std::nullopt, /*shared_storage_dqdkdv=*/true);
  return {query.squeeze(0), key.squeeze(0), value.squeeze(0)};
}

}  // namespace

bool has_varlen_kernel(at::Device place, at::ScalarType type, std::int64_t width, bool is_hashed) {
  return varlen_kernel(place, type, width, is_hashed) != VarlenKernel::plain;
}

at::Tensor varlen_attention(const VarlenRows& rows, const VarlenDropout& dropout, VarlenSaved& saved) {
  switch (varlen_kernel(saved, dropout)) {
    case VarlenKernel::flash:
      return flash_attention(rows, dropout.rate, saved);
    case VarlenKernel::efficient:
      return efficient_attention(rows, dropout.rate, saved);
    case VarlenKernel::plain:
      break;
  }
  // In profiles it is one operator, like the device's kernels.
  RECORD_FUNCTION(kVarlenForward, std::vector<c10::IValue>());
  return plain_attention(rows, dropout, saved);
}

VarlenGradients varlen_attention_backward(const VarlenRows& rows, const VarlenDropout& dropout, const VarlenSaved& saved,
                                          const at::Tensor& derivative) {
  switch (varlen_kernel(saved, dropout)) {
    case VarlenKernel::flash:
      return flash_attention_backward(rows, dropout.rate, saved, derivative);
    case VarlenKernel::efficient:
      return efficient_attention_backward(rows, dropout.rate, saved, derivative);
    case VarlenKernel::plain:
      break;
  }
  RECORD_FUNCTION(kVarlenBackward, std::vector<c10::IValue>());
  return plain_attention_backward(rows, dropout, saved, derivative);
}

at::Tensor joint_view(const std::array<at::Tensor, 3>& parts) {
  const at::Tensor& first = parts[0];
  const std::int64_t columns = first.numel() / first.size(0);
  const auto stands_beside = [&](const at::Tensor& part, std::int64_t number) {
    return part.is_alias_of(first) && part.storage_offset() == first.storage_offset() + number * columns;
  };
  if (first.stride(0) != 3 * columns || !stands_beside(parts[1], 1) || !stands_beside(parts[2], 2)) return {};
  return first.as_strided({first.size(0), 3 * columns}, {3 * columns, 1});
}

at::Tensor beside_each_other(const VarlenGradients& gradients) {
  const at::Tensor joint = joint_view({gradients.query, gradients.key, gradients.value});
  return joint.defined() ? joint : at::stack({gradients.query, gradients.key, gradients.value}, 1).flatten(1);
}

}  // namespace hpcbench::train
