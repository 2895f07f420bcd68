#pragma once

#include <ATen/core/Tensor.h>

#include "optim/model.hpp"
#include "strategies/group.hpp"

namespace hpcbench::train {

/// Gives the model of every rank the parameters and buffers of the first; throws where the ranks' parameters are of different
/// shapes. The buffers' data then stands side by side in the tensor that is returned (undefined where there are none), so that
/// one broadcast a pass renews them. Collective.
at::Tensor make_ranks_equal(Model& model, Group& group);

}  // namespace hpcbench::train
