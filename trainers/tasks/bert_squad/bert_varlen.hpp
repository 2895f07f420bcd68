#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tasks/bert_squad/bert_rows.hpp"

namespace hpcbench::train {

/// The stretches of a pass's tokens, each token being a query and a key. Padding attends to the real keys of its row, and no
/// query attends to it: all queries of a row and its real keys are one stretch, its padding is a second one, of keys without
/// queries. So nothing is gathered: the kernels write 0 as the derivatives by keys without queries.
struct VarlenRows {
  std::vector<std::int64_t> queries, keys;  // stretches + 1 numbers each, from 0 to the number of tokens
  std::int64_t most_queries = 0, most_keys = 0;
  at::Tensor queries_there, keys_there;  // the same as int32 on the device
};

/// A tensor after dropout, with the mask of kept elements: undefined without dropout.
struct Dropped {
  at::Tensor value;
  at::Tensor mask;
};

/// Dropout of attention.
struct VarlenDropout {
  double rate = 0;         // 0: none
  bool is_hashed = false;  // the device's own kernels cannot draw it
  /// Called by the plain form: draws for the probabilities of a row, [heads, queries, keys].
  std::function<Dropped(const at::Tensor& probabilities, std::int64_t row)> draw;
  /// Returns the derivative by the probabilities.
  std::function<at::Tensor(const at::Tensor& derivative, const at::Tensor& mask)> draw_backward;
};

/// The tensors that attention keeps for backward.
struct VarlenSaved {
  at::Tensor query, key, value;        // [tokens, heads, width]
  at::Tensor output;                   // of the device's kernels
  at::Tensor log_sum, seed, offset;    // of the device's kernels
  std::vector<at::Tensor> softmax;     // of the plain form: by row
  std::vector<Dropped> probabilities;  // of the plain form: by row, after dropout
};

/// Names of the plain form's calls in profiles, where each counts as the one operator that it is on a GPU.
inline constexpr const char* kVarlenForward = "bert_attention";
inline constexpr const char* kVarlenBackward = "bert_attention_backward";

/// Attention of rows of different lengths in one call: [tokens, heads, width] from queries, keys and values of that form. On a
/// GPU by its kernel for bf16 or for fp32; elsewhere, in fp64, and with hashed dropout, row by row with plain operators.
at::Tensor varlen_attention(const VarlenRows& rows, const VarlenDropout& dropout, VarlenSaved& saved);

/// Returns whether such attention is one kernel of the device, `is_hashed`: with hashed dropout.
bool has_varlen_kernel(at::Device place, at::ScalarType type, std::int64_t width, bool is_hashed);

/// Derivatives by queries, keys and values, [tokens, heads, width] each.
struct VarlenGradients {
  at::Tensor query, key, value;
};
VarlenGradients varlen_attention_backward(const VarlenRows& rows, const VarlenDropout& dropout, const VarlenSaved& saved,
                                          const at::Tensor& derivative);
/// Returns [tokens, 3 * columns], a view of the tensor whose rows contain these three side by side, with `columns` elements per
/// token each; undefined otherwise.
at::Tensor joint_view(const std::array<at::Tensor, 3>& parts);
/// Returns [tokens, 3 * heads * width]: joint_view(), or a copy.
at::Tensor beside_each_other(const VarlenGradients& gradients);

}  // namespace hpcbench::train
