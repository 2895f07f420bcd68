#pragma once

namespace hpcbench::train::kernels {

/// Kernels for GPUs, in CUDA C++, as GpuProgram compiles them: cmake puts words.inc, NAME_arguments.inc and NAME_kernels.inc
/// into the program.
const char* adamw_gpu_source();
const char* bert_gpu_source();

}  // namespace hpcbench::train::kernels
