#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/settings.hpp"
#include "optim/update_part.hpp"

namespace hpcbench::train {

struct TorchUpdate {
  OptimizerKind kind = OptimizerKind::sgd;
  double lr = 0;
  double momentum = 0;  // of SGD
  double scale = 1;     // of the gradients, before anything else
  std::int64_t step = 1;
  // On the device, for an update that the host does not wait for; undefined: none.
  at::Tensor divisor = {};  // of the gradients, before anything else; a scalar of their type
  at::Tensor skip = {};     // AdamW: 1 (fp32) where no step is to be made
};

/// The update of kernels.hpp by LibTorch's operators over lists of tensors, on any device: the same formulas, whose roundings
/// differ. The gradients are changed. The host does not wait.
void update_by_torch(const std::vector<UpdatePart>& parts, const TorchUpdate& update);

/// The norm of all gradients together, a scalar in fp64 on their device.
at::Tensor gradient_norm_by_torch(const std::vector<at::Tensor>& gradients);

/// What gradients of this norm are divided by, so that it is at most `clip`: max(1, (norm + 1e-6) / clip).
at::Tensor clip_divisor_by_torch(const at::Tensor& norm, double clip, at::ScalarType type);

/// Whether a loss was not finite, kept on the device.
class SpoiltMark {
 public:
  void note(const at::Tensor& loss);
  /// 1 from the first loss on that was not finite, else 0: fp32. Undefined where none was noted.
  at::Tensor read() const;
  /// Not a number from then on, else 0: fp32. Undefined where none was noted.
  const at::Tensor& sum() const { return sum_; }

 private:
  at::Tensor sum_;
};

}  // namespace hpcbench::train
