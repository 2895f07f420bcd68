#pragma once

#include <optional>

#include "tasks/bert_squad/bert_gpu_rows.hpp"
#include "tasks/bert_squad/bert_step.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

/// Data that the layers of one pass share.
struct OperatorPass {
  std::shared_ptr<const BertStep> step;
  VarlenRows rows;
  std::optional<BertGpuRows> gpu_rows;  // nullopt: LibTorch's operators instead

  /// Applies dropout at a site to a matrix of tokens, [tokens, hidden].
  Dropped dropped(const at::Tensor& x, const kernels::DropoutSite& site) const;
  at::Tensor dropped_backward(const at::Tensor& derivative, const at::Tensor& mask, const kernels::DropoutSite& site) const;
};

/// A layer's parameters in the type of computing, with query, key and value as one.
using LayerTensors = std::vector<at::Tensor>;

/// Returns the tensors of all layers: copies by one operator, or the parameters themselves if they have that type.
std::vector<LayerTensors> layer_copies(const BertStep& step);

/// Returns one layer as one node of the graph, which makes no graph inside. It computes with `copies` and keeps them until
/// backward; if they are empty, it makes its own in each pass, and keeps none.
at::Tensor operator_layer(const std::shared_ptr<const OperatorPass>& pass, std::int64_t number, LayerTensors copies,
                          const at::Tensor& x);

}  // namespace hpcbench::train
