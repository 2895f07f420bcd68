#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/gpu_program.hpp"
#include "optim/update_part.hpp"

namespace hpcbench::train {

/// Returns the kernels for the process's current GPU and later ones; std::runtime_error like compile_gpu_program().
std::shared_ptr<const GpuProgram> compile_adamw_kernels();

struct GpuAdamWStep {
  double lr = 0;
  std::int64_t step = 1;
  double clip = 0;         // maximum norm of all gradients together
  at::Tensor norm = {};    // that norm, fp64 on the GPU; undefined: gradients are not scaled
  at::Tensor spoilt = {};  // fp32 on the GPU: if it is not a number, no step is made; undefined: always makes a step
};

/// AdamW and the norm of gradients by our own kernels, one pass over memory each. All tensors are fp32, contiguous, on one GPU.
/// The host does not wait, and gradients are unchanged.
class GpuAdamW {
 public:
  explicit GpuAdamW(std::shared_ptr<const GpuProgram> program) : program_(std::move(program)) {}

  /// Parameters without a gradient are unchanged.
  void update(const std::vector<UpdatePart>& parts, const GpuAdamWStep& step) const;
  /// Returns the norm of all gradients together, a scalar in fp64.
  at::Tensor norm(const std::vector<at::Tensor>& gradients) const;

 private:
  std::shared_ptr<const GpuProgram> program_;
};

}  // namespace hpcbench::train
