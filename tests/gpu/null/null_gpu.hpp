#pragma once

#include <cstddef>

constexpr int kNullGpuRegisters = 32;  // of a thread, whatever the kernel

/// Shared by the libraries of the null GPU: one table of calls, and faults on request. For work in streams see capture.hpp.
///
/// The environment configures the null GPU:
///   NULL_GPU_COUNT=2          GPUs (1)
///   NULL_GPU_MEMORY_MB=512    memory of each (8192)
///   NULL_GPU_NAME=...         its model (Null GPU)
///   NULL_GPU_CAPABILITY=7.5   compute capability (9.0)
///   NULL_GPU_DRIVER=12080     version of the driver (the runtime's own); below that it is too old
///   NULL_GPU_REPORT=FILE      file of the counts, complete however the process ends: lines `count<TAB>name`,
///                             then zeros
///   NULL_GPU_KERNELS=1        counts each kernel by its (mangled) name as well: lines `count<TAB>kernel NAME`
///   NULL_GPU_FAULT=NAME:N:WHAT  the N-th call of NAME (from 1) returns the number WHAT, or hangs (`hang`), or ends the process
///                             as SIGKILL does (`kill`); N+: it and all later ones; several by commas
extern "C" {
/// Counts a call. Not 0: the call fails with this number.
long null_gpu_call(const char* name);
/// Counts without faults: `kernel`, `copy to device` and so on.
void null_gpu_count(const char* what);
/// Returns an attribute of a GPU, by its number, which CUDA's runtime and driver share. 0: CUDA 13 does not have this number.
int null_gpu_limit(int attribute, int device, int* value);
/// Returns a part of the compute capability: 0 the major number, 1 the minor one.
int null_gpu_capability(int part);
/// Returns how many blocks with this many threads, registers per thread, and bytes of shared memory per block fit on a
/// multiprocessor.
int null_gpu_blocks(int threads, int registers, std::size_t shared_bytes);
}
