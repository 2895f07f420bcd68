// CUDA's names for kernels that are compiled for a CPU: instead of words.inc. For one file that includes kernels behind it.

#include <bit>
#include <cmath>

#include "trainers/cuda_on_cpu/cpu_gpu_program.hpp"

namespace hpcbench::train {
namespace {

[[maybe_unused]] void __syncthreads() { cuda_on_cpu::wait_for_block(); }
[[maybe_unused]] float __shfl_xor_sync(unsigned, float value, int distance) { return cuda_on_cpu::exchange(value, distance); }
[[maybe_unused]] float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
[[maybe_unused]] unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
[[maybe_unused]] float __expf(float x) { return std::exp(x); }
[[maybe_unused]] float __fdividef(float x, float y) { return x / y; }

}  // namespace
}  // namespace hpcbench::train

#define threadIdx cuda_on_cpu::thread_index()
#define blockIdx cuda_on_cpu::block_index
#define gridDim cuda_on_cpu::grid_size
#define __shared__ static
#define __grid_constant__
#define GPU_UNROLL
#define GPU_KERNEL(...) [[maybe_unused]] void
