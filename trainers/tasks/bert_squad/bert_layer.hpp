#pragma once

#include <array>

#include "tasks/bert_squad/bert_step.hpp"

namespace hpcbench::train {

/// The part of a layer's forward that its backward needs. In each line: rows are tokens, M is the type of products.
struct BertLayerSaved {
  at::Tensor x;                       // [., H] T: the layer's input, the only value with checkpointing
  at::Tensor matrix;                  // [., H] M: the same, for products
  std::array<at::Tensor, 4> weights;  // query-key-value, attention.output, intermediate, output: M, [out, in]
  at::Tensor qkv, context;            // [., 3H], [., H] M
  at::Tensor row_max, row_scale;      // [heads, T] T
  at::Tensor x_hat1, reciprocal1;     // [., H], [.] T
  at::Tensor y1, y1_matrix;           // [., H] T, M
  at::Tensor u;                       // [., I] M: before bias and GELU
  at::Tensor x_hat2, reciprocal2;
};

/// Derivatives by the layer's input and by its parameters, in the order of bert_layer_parameters().
struct BertLayerGradients {
  at::Tensor x;
  std::vector<at::Tensor> parameters;
};

/// Returns one encoder layer: x [., H] -> y [., H].
at::Tensor bert_layer(const std::shared_ptr<BertStep>& step, std::int64_t number, const at::Tensor& x);

}  // namespace hpcbench::train
