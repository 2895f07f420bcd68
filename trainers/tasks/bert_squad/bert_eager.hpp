#pragma once

#include "tasks/bert_squad/bert_rows.hpp"
#include "tasks/bert_squad/bert_weights.hpp"

namespace hpcbench::train {

/// BERT in plain operators and automatic differentiation: the reference for the fused model, on any device. Dropout masks are
/// those of the fused model, made as tensors.
at::Tensor eager_logits(const BertWeights& weights, const BertConfig& config, const BertOptions& options, const BertRows& rows,
                        const DropoutKey* dropout, const Model& model);

/// Returns [2]: sums of the cross-entropies of starts and ends over the rows whose position is not ignored.
at::Tensor eager_loss_sums(const BertBatch& batch, const at::Tensor& logits, bool pad_in_softmax);

}  // namespace hpcbench::train
