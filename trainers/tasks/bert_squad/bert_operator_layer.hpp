#pragma once

#include "tasks/bert_squad/bert_step.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// What the layers of one pass share.
struct OperatorPass {
  std::shared_ptr<const BertStep> step;
  VarlenRows rows;
  bool keeps_copies = true;  // of the parameters, in the type that is computed in, from forward to backward

  /// What is dropped of a matrix of tokens, [tokens, hidden], at a site.
  Dropped dropped(const at::Tensor& x, const kernels::DropoutSite& site) const;
  at::Tensor dropped_backward(const at::Tensor& derivative, const at::Tensor& mask, const kernels::DropoutSite& site) const;
};

/// One layer as one node of the graph, which makes no graph inside.
at::Tensor operator_layer(const std::shared_ptr<const OperatorPass>& pass, std::int64_t number, const at::Tensor& x);

}  // namespace hpcbench::train
