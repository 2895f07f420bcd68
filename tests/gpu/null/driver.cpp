// libcuda: the functions of the driver that have a result. All others only count and succeed (make_null_gpu.py writes them).
#include <cuda.h>

#include "capture.hpp"
#include "null_gpu.hpp"

// The header renames these for code that uses them.
#undef cuOccupancyMaxActiveBlocksPerMultiprocessor

namespace {

thread_local CUcontext t_context = nullptr;

/// Any address that is not null: contexts are opaque.
CUcontext primary_context() {
  static long context = 0;
  return reinterpret_cast<CUcontext>(&context);
}

CUresult called(const char* name) { return static_cast<CUresult>(null_gpu_call(name)); }

}  // namespace

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, called("cuDeviceGet"); }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return null_gpu_limit(attribute, device, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  return *flags = 0, *active = 1, called("cuDevicePrimaryCtxGetState");
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = primary_context(), called("cuDevicePrimaryCtxRetain");
}
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = t_context, called("cuCtxGetCurrent"); }
CUresult cuCtxSetCurrent(CUcontext context) { return t_context = context, called("cuCtxSetCurrent"); }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "an error of the null GPU", CUDA_SUCCESS; }

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = 0;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) null_gpu_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0, value);
  if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS) *value = kNullGpuRegisters;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, std::size_t shared_bytes) {
  return *blocks = null_gpu_blocks(threads, kNullGpuRegisters, shared_bytes), CUDA_SUCCESS;
}
/// Any address that is not null: kernels are opaque.
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  return *function = reinterpret_cast<CUfunction>(primary_context()), called("cuModuleGetFunction");
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream stream,
                        void**, void**) {
  const int refused = null_gpu_work(stream, "kernel", nullptr);
  return refused ? static_cast<CUresult>(refused) : called("cuLaunchKernel");
}
}
