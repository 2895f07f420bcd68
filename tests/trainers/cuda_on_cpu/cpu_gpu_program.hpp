#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "devices/gpu_program.hpp"

namespace hpcbench::train {

/// The functions for a kernel in CUDA C++ that was compiled for a CPU (cuda_words.hpp gives them CUDA's names).
namespace cuda_on_cpu {

struct CudaIndex {
  unsigned x = 0, y = 0;
};

extern CudaIndex block_index, grid_size;
CudaIndex thread_index();
void wait_for_block();
/// Returns the value of the lane whose number differs by `distance`.
float exchange(float value, int distance);

}  // namespace cuda_on_cpu

/// Kernels for GPUs on a CPU: block after block, a fiber for each thread of a block. One warp after the other runs until all of
/// its threads wait at a barrier of the block, in an order that rotates from launch to launch, so that a missing barrier shows.
class CpuGpuProgram final : public GpuProgram {
 public:
  /// Takes the struct of its arguments.
  using Kernel = std::function<void(void*)>;
  explicit CpuGpuProgram(std::map<std::string, Kernel> kernels) : kernels_(std::move(kernels)) {}
  void launch(at::Device place, const char* kernel, const GpuGrid& grid, void* arguments) const override;
  /// Few, so that a block has several rows.
  std::int64_t multiprocessors(at::Device) const override { return 2; }
  /// Returns the number of kernels launched so far.
  const std::vector<std::string>& launched() const { return launched_; }

 private:
  std::map<std::string, Kernel> kernels_;
  mutable std::vector<std::string> launched_;
};

}  // namespace hpcbench::train
