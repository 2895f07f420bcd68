#include "strategies/equal_ranks.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace hpcbench::train {

namespace {

at::Tensor join_data_of(std::vector<NamedTensor>& buffers) {
  std::int64_t count = 0;
  for (const NamedTensor& buffer : buffers) count += buffer.tensor.numel();
  if (count == 0) return {};
  at::Tensor joined = at::empty({count}, buffers.front().tensor.options());
  std::int64_t offset = 0;
  for (NamedTensor& buffer : buffers) {
    at::Tensor view = joined.narrow(0, offset, buffer.tensor.numel()).view(buffer.tensor.sizes());
    view.copy_(buffer.tensor);
    buffer.tensor.set_data(view);
    offset += view.numel();
  }
  return joined;
}

}  // namespace

at::Tensor make_ranks_equal(Model& model, Group& group) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parameters;
  for (const NamedTensor& parameter : model.parameters) parameters.push_back(parameter.tensor);
  c10d::verify_params_across_processes(group.process_group(), parameters, std::nullopt);
  at::Tensor buffers = join_data_of(model.buffers);
  std::vector<at::Tensor> state;
  for (const at::Tensor& parameter : parameters) state.push_back(parameter.detach());
  if (buffers.defined()) state.push_back(buffers);
  group.broadcast_from_first(state);
  return buffers;
}

}  // namespace hpcbench::train
