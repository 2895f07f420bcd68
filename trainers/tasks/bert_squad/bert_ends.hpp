#pragma once

#include "tasks/bert_squad/bert_step.hpp"

namespace hpcbench::train {

/// The first and the last part of the fused model.

/// Returns word, position and type embeddings with LayerNorm and dropout: [., H].
at::Tensor bert_embeddings(const std::shared_ptr<BertStep>& step);

/// Returns [tokens, 2] from the last layer's output.
at::Tensor bert_head(const std::shared_ptr<BertStep>& step, const at::Tensor& x);

/// Computes eager_loss_sums() in one pass.
at::Tensor bert_loss_sums(const BertBatch& batch, const at::Tensor& logits, bool pad_in_softmax);

}  // namespace hpcbench::train
