#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The number of blocks, and of threads in each.
struct GpuGrid {
  std::int64_t blocks = 1;
  std::int64_t stripes = 1;  // blocks in the second direction
  std::int64_t threads = 1;
};

/// Kernels of our own for GPUs.
class GpuProgram {
 public:
  virtual ~GpuProgram() = default;
  /// Enqueues a kernel for computing on the GPU `place`. `arguments` is the one struct that the kernel takes by value. Throws
  /// if the GPU refuses.
  virtual void launch(at::Device place, const char* kernel, const GpuGrid& grid, void* arguments) const = 0;
  virtual std::int64_t multiprocessors(at::Device place) const = 0;
};

/// Compiles CUDA C++ by NVRTC, which is part of LibTorch for CUDA: for the GPU `place` (without a number the current one) now,
/// for others at their first use; once for equal requests, and for all GPUs of one compute capability. `definitions` are for
/// the preprocessor, NAME or NAME=VALUE. Throws std::runtime_error that states what is missing or wrong, and that `kernels:
/// torch` does not need it.
std::shared_ptr<const GpuProgram> compile_gpu_program(const std::string& source, const std::vector<std::string>& definitions,
                                                      at::Device place);

}  // namespace hpcbench::train
