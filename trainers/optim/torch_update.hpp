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
  // On the device, for an update for which the host does not wait; undefined: none.
  at::Tensor divisor = {};  // of the gradients, before anything else; a scalar of their type
  at::Tensor skip = {};     // AdamW: 1 (fp32) if no step is to be made
};

/// Computes the update of kernels.hpp by LibTorch's operators over lists of tensors, on any device: the same formulas with
/// different roundings. Overwrites the gradients. The host does not wait.
void update_by_torch(const std::vector<UpdatePart>& parts, const TorchUpdate& update);

/// Returns the norm of all gradients together, a scalar in fp64 on their device.
at::Tensor gradient_norm_by_torch(const std::vector<at::Tensor>& gradients);

/// Returns the divisor of gradients with this norm that limits it to `clip`: max(1, (norm + 1e-6) / clip).
at::Tensor clip_divisor_by_torch(const at::Tensor& norm, double clip, at::ScalarType type);

/// Records on the device whether a loss was not finite.
class SpoiltMark {
 public:
  void note(const at::Tensor& loss);
  /// Returns 1 after the first loss that was not finite, else 0: fp32. Undefined without any recorded loss.
  at::Tensor read() const;
  /// Returns not-a-number after such a loss, else 0: fp32. Undefined without any recorded loss.
  const at::Tensor& sum() const { return sum_; }

 private:
  at::Tensor sum_;
};

}  // namespace hpcbench::train
