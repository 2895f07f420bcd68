#pragma once

#include "optim/model.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"
#include "tasks/bert_squad/bert_step.hpp"

namespace hpcbench::train {

/// Computes eager_logits() in the fewest of LibTorch's operators: on a GPU each is at least one launch. Their number depends
/// neither on the number of rows nor on their lengths. With bf16 a layer is bf16 from end to end; its parameters and their
/// gradients stay fp32, and the copies in bf16 are made again for backward if parameters may be freed meanwhile.
at::Tensor operator_logits(const std::shared_ptr<BertStep>& step, const Model& model);

/// Computes eager_loss_sums() of all rows at once.
at::Tensor operator_loss_sums(const std::shared_ptr<const BertNumbers>& numbers, const at::Tensor& logits);

}  // namespace hpcbench::train
