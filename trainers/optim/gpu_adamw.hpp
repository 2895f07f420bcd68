#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/gpu_program.hpp"
#include "optim/update_part.hpp"

namespace hpcbench::train {

/// The kernels for the process's current GPU and later ones; std::runtime_error as compile_gpu_program().
std::shared_ptr<const GpuProgram> compile_adamw_kernels();

struct GpuAdamWStep {
  double lr = 0;
  std::int64_t step = 1;
  double clip = 0;         // greatest norm of all gradients together
  at::Tensor norm = {};    // that norm, fp64 on the GPU; undefined: gradients are taken as they are
  at::Tensor spoilt = {};  // fp32 on the GPU: where it is not a number, no step is made; undefined: one is made
};

/// AdamW and the norm of gradients by kernels of our own, one pass over memory each. All tensors are fp32,
/// contiguous, on one GPU. The host does not wait, and gradients stay as they are.
class GpuAdamW {
 public:
  explicit GpuAdamW(std::shared_ptr<const GpuProgram> program) : program_(std::move(program)) {}

  /// Parameters without a gradient stay as they are.
  void update(const std::vector<UpdatePart>& parts, const GpuAdamWStep& step) const;
  /// The norm of all gradients together, a scalar in fp64.
  at::Tensor norm(const std::vector<at::Tensor>& gradients) const;

 private:
  std::shared_ptr<const GpuProgram> program_;
};

}  // namespace hpcbench::train
