#pragma once

#include "trainers/cuda_on_cpu/cpu_gpu_program.hpp"

namespace hpcbench::train {

/// bert_kernels.inc, compiled for a CPU. `hidden` is 72, 264 or 1024.
std::shared_ptr<CpuGpuProgram> cpu_bert_program(std::int64_t hidden, bool bf16);

}  // namespace hpcbench::train
