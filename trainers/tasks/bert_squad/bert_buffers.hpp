#pragma once

#include <ATen/core/Tensor.h>

#include <mutex>
#include <vector>

namespace hpcbench::train {

/// Memory for activations and gradients that is used again from step to step. A buffer is in use as long as a tensor lives
/// that was made from it, whoever holds that tensor; page faults of fresh memory cost some percent of a step.
class BertBuffers {
 public:
  /// Contiguous, on the CPU, not initialised.
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType type);

 private:
  at::Storage find(std::size_t size_bytes);

  std::mutex mutex_;
  std::vector<at::Storage> storages_;
};

}  // namespace hpcbench::train
