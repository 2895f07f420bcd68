#pragma once

#include <ATen/core/Tensor.h>

#include "optim/model.hpp"
#include "strategies/group.hpp"

namespace hpcbench::train {

/// Copies the parameters and buffers of the first rank to every rank; throws if the ranks' parameters differ in shape. The
/// buffers' data then lies side by side in the returned tensor (undefined without buffers), so that one broadcast per pass
/// renews them. Collective.
at::Tensor make_ranks_equal(Model& model, Group& group);

}  // namespace hpcbench::train
