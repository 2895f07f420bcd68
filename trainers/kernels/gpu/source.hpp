#pragma once

namespace hpcbench::train::kernels {

/// Sources of GPU kernels, in CUDA C++, for GpuProgram to compile: cmake embeds words.inc, NAME_arguments.inc and
/// NAME_kernels.inc in the program.
const char* adamw_gpu_source();
const char* bert_gpu_source();

}  // namespace hpcbench::train::kernels
