#pragma once

#include <string>
#include <vector>

#include "devices/gpu_program.hpp"

namespace hpcbench::train {

/// BERT's kernels for GPUs on a CPU: bert_kernels.inc, compiled for one of a few widths and types, block after block, a fiber
/// for each thread of a block. Fibers run one after the other until each stands at a barrier, in an order that turns round from
/// launch to launch, so that a barrier which is missing shows.
class CpuGpuProgram final : public GpuProgram {
 public:
  /// `hidden` is 72, 264 or 1024.
  CpuGpuProgram(std::int64_t hidden, bool bf16);
  void launch(at::Device place, const char* kernel, const GpuGrid& grid, void* arguments) const override;
  /// Few, so that a block has several rows.
  std::int64_t multiprocessors(at::Device) const override { return 2; }
  /// The kernels launched so far.
  const std::vector<std::string>& launched() const { return launched_; }

 private:
  std::int64_t hidden_;
  bool bf16_;
  mutable std::vector<std::string> launched_;
};

}  // namespace hpcbench::train
