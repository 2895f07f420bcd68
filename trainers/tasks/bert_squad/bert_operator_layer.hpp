#pragma once

#include <optional>

#include "tasks/bert_squad/bert_gpu_rows.hpp"
#include "tasks/bert_squad/bert_step.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// What the layers of one pass share.
struct OperatorPass {
  std::shared_ptr<const BertStep> step;
  VarlenRows rows;
  std::optional<BertGpuRows> gpu_rows;  // absent: LibTorch's operators instead

  /// What is dropped of a matrix of tokens, [tokens, hidden], at a site.
  Dropped dropped(const at::Tensor& x, const kernels::DropoutSite& site) const;
  at::Tensor dropped_backward(const at::Tensor& derivative, const at::Tensor& mask, const kernels::DropoutSite& site) const;
};

/// A layer's parameters in the type that is computed in, query, key and value as one.
using LayerTensors = std::vector<at::Tensor>;

/// Those of all layers: copies by one operator, the parameters themselves where they are of that type.
std::vector<LayerTensors> layer_copies(const BertStep& step);

/// One layer as one node of the graph, which makes no graph inside. It computes with `copies` and keeps them until backward;
/// where they are empty, it makes its own in each pass, and keeps none.
at::Tensor operator_layer(const std::shared_ptr<const OperatorPass>& pass, std::int64_t number, LayerTensors copies,
                          const at::Tensor& x);

}  // namespace hpcbench::train
