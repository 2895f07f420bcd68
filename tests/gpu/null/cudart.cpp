// libcudart: GPUs whose memory is the host's and whose kernels do nothing. Functions that are neither here nor in
// cudart_streams.cpp and cudart_errors.cpp only count and succeed (make_null_gpu.py writes them).
#include "cudart.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "capture.hpp"
#include "null_gpu.hpp"

// The header renames it for code that uses it.
#undef cudaGetDeviceProperties

namespace {

thread_local int t_device = 0;

long variable(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atol(text) : otherwise;
}

int gpus() { return static_cast<int>(variable("NULL_GPU_COUNT", 1)); }
std::size_t memory_bytes() { return static_cast<std::size_t>(variable("NULL_GPU_MEMORY_MB", 8192)) << 20; }
int driver() { return static_cast<int>(variable("NULL_GPU_DRIVER", CUDART_VERSION)); }

/// A call that captures may forbid to this thread.
cudaError_t called_unsafe(const char* name) {
  const cudaError_t error = called(name);
  return error != cudaSuccess ? error : answer(null_gpu_unsafe());
}

/// The allocations of each GPU.
class Memory {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (used_[t_device] + bytes > memory_bytes()) return nullptr;
    // Zeros: an empty loss is 0, not a number that no kernel wrote.
    void* const block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (!block) return nullptr;
    std::memset(block, 0, bytes);
    used_[t_device] += bytes;
    blocks_[block] = {t_device, bytes};
    return block;
  }

  void give(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return;
    used_[found->second.device] -= found->second.bytes;
    blocks_.erase(found);
    std::free(block);
  }

  std::size_t used() {
    const std::lock_guard lock(mutex_);
    return used_[t_device];
  }

  /// Returns the GPU that has this address, or -1: the host's.
  int device_of(const void* address) {
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(const_cast<void*>(address));
    if (next == blocks_.begin()) return -1;
    --next;
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(next->first));
    return offset < next->second.bytes ? next->second.device : -1;
  }

 private:
  static constexpr std::size_t kAlignment = 512;
  struct Block {
    int device = 0;
    std::size_t bytes = 0;
  };
  std::mutex mutex_;
  std::map<void*, Block> blocks_;
  std::map<int, std::size_t> used_;
};

Memory& memory() {
  static Memory* const all = new Memory;
  return *all;
}

/// Pinned memory of the host.
Memory& pinned() {
  static Memory* const all = new Memory;
  return *all;
}

/// Host memory that is not pinned.
bool is_pageable(const void* address) { return memory().device_of(address) < 0 && pinned().device_of(address) < 0; }

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const bool to_device = memory().device_of(to) >= 0;
  const bool from_device = memory().device_of(from) >= 0;
  const char* const what = to_device ? (from_device ? "copy on device" : "copy to device") : "copy to host";
  const bool pageable = is_pageable(to) || is_pageable(from);
  const cudaError_t error = answer(null_gpu_copy(stream, what, to, from, bytes, pageable));
  if (error == cudaSuccess && pageable && to_device) null_gpu_count("copy to device from pageable memory");
  return error;
}

/// The names of kernels by their launch address, if NULL_GPU_KERNELS requests separate counts. Libraries register theirs when
/// they are loaded.
class KernelNames {
 public:
  void add(const void* function, const char* name) {
    if (wanted_) names_[function] = name;
  }
  /// Null: not requested, or unnamed.
  const char* find(const void* function) const {
    const auto found = names_.find(function);
    return found == names_.end() ? nullptr : found->second.c_str();
  }

 private:
  bool wanted_ = variable("NULL_GPU_KERNELS", 0) != 0;
  std::unordered_map<const void*, std::string> names_;
};

KernelNames& kernel_names() {
  static KernelNames* const all = new KernelNames;
  return *all;
}

cudaError_t launched(const void* kernel, cudaStream_t stream) {
  const cudaError_t error = answer(null_gpu_work(stream, "kernel", kernel_names().find(kernel)));
  return error != cudaSuccess ? error : called("cudaLaunchKernel");
}

}  // namespace

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) { return *version = driver(), cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (driver() < CUDART_VERSION / 1000 * 1000) return set_last(cudaErrorInsufficientDriver);
  *count = gpus();
  return *count > 0 ? called("cudaGetDeviceCount") : set_last(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) { return *device = t_device, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus()) return set_last(cudaErrorInvalidDevice);
  t_device = device;
  return called("cudaSetDevice");
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const auto limit = [device](cudaDeviceAttr attribute) {
    int value = 0;
    if (!null_gpu_limit(attribute, device, &value)) std::abort();
    return value;
  };
  *properties = {};
  const char* name = std::getenv("NULL_GPU_NAME");
  std::snprintf(properties->name, sizeof properties->name, "%s", name ? name : "Null GPU");
  properties->totalGlobalMem = memory_bytes();
  for (int index = 0; index < 16; ++index) properties->uuid.bytes[index] = static_cast<char>(16 * device + index);
  properties->major = limit(cudaDevAttrComputeCapabilityMajor);
  properties->minor = limit(cudaDevAttrComputeCapabilityMinor);
  properties->multiProcessorCount = limit(cudaDevAttrMultiProcessorCount);
  properties->warpSize = limit(cudaDevAttrWarpSize);
  properties->maxThreadsPerBlock = limit(cudaDevAttrMaxThreadsPerBlock);
  properties->maxThreadsPerMultiProcessor = limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties->maxBlocksPerMultiProcessor = limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  for (int axis = 0; axis < 3; ++axis) {
    properties->maxGridSize[axis] = limit(static_cast<cudaDeviceAttr>(cudaDevAttrMaxGridDimX + axis));
    properties->maxThreadsDim[axis] = limit(static_cast<cudaDeviceAttr>(cudaDevAttrMaxBlockDimX + axis));
  }
  const auto bytes = [&limit](cudaDeviceAttr attribute) { return static_cast<std::size_t>(limit(attribute)); };
  properties->sharedMemPerBlock = bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  properties->sharedMemPerMultiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties->sharedMemPerBlockOptin = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties->reservedSharedMemPerBlock = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
  properties->totalConstMem = bytes(cudaDevAttrTotalConstantMemory);
  properties->memPitch = bytes(cudaDevAttrMaxPitch);
  properties->textureAlignment = bytes(cudaDevAttrTextureAlignment);
  properties->texturePitchAlignment = bytes(cudaDevAttrTexturePitchAlignment);
  properties->surfaceAlignment = bytes(cudaDevAttrSurfaceAlignment);
  properties->regsPerBlock = limit(cudaDevAttrMaxRegistersPerBlock);
  properties->regsPerMultiprocessor = limit(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties->l2CacheSize = limit(cudaDevAttrL2CacheSize);
  properties->memoryBusWidth = limit(cudaDevAttrGlobalMemoryBusWidth);
  properties->asyncEngineCount = limit(cudaDevAttrAsyncEngineCount);
  properties->concurrentKernels = limit(cudaDevAttrConcurrentKernels);
  properties->cooperativeLaunch = limit(cudaDevAttrCooperativeLaunch);
  properties->unifiedAddressing = limit(cudaDevAttrUnifiedAddressing);
  properties->canMapHostMemory = limit(cudaDevAttrCanMapHostMemory);
  properties->pciBusID = limit(cudaDevAttrPciBusId);
  return called("cudaGetDeviceProperties");
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return null_gpu_limit(attribute, device, value) ? cudaSuccess : set_last(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 1, cudaSuccess; }

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  *block = nullptr;
  if (const cudaError_t error = called_unsafe("cudaMalloc"); error != cudaSuccess) return error;
  *block = memory().take(bytes);
  return *block ? cudaSuccess : set_last(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* block) {
  const cudaError_t error = called_unsafe("cudaFree");
  if (error == cudaSuccess) memory().give(block);
  return error;
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  *block = nullptr;
  if (const cudaError_t error = called_unsafe("cudaHostAlloc"); error != cudaSuccess) return error;
  *block = pinned().take(bytes);
  return *block ? cudaSuccess : set_last(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* block) {
  const cudaError_t error = called_unsafe("cudaFreeHost");
  if (error == cudaSuccess) pinned().give(block);
  return error;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = memory_bytes();
  *free = *total - memory().used();
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  const int device = memory().device_of(address);
  attributes->device = device;
  attributes->type = device >= 0                        ? cudaMemoryTypeDevice
                     : pinned().device_of(address) >= 0 ? cudaMemoryTypeHost
                                                        : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t error = called_unsafe("cudaMemcpy"); error != cudaSuccess) return error;
  null_gpu_count("host waits");
  return copy(to, from, bytes, cudaStreamLegacy);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const cudaError_t error = called("cudaMemcpyAsync");
  return error != cudaSuccess ? error : copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t error = called("cudaMemcpyPeerAsync");
  return error != cudaSuccess ? error : copy(to, from, bytes, stream);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const cudaError_t error = called_unsafe("cudaMemset");
  return error != cudaSuccess ? error : answer(null_gpu_memset(cudaStreamLegacy, to, value, bytes));
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t error = called("cudaMemsetAsync");
  return error != cudaSuccess ? error : answer(null_gpu_memset(stream, to, value, bytes));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  int value = 0;
  if (null_gpu_limit(cudaDevAttrMaxThreadsPerBlock, t_device, &value)) attributes->maxThreadsPerBlock = value;
  if (null_gpu_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin, t_device, &value)) attributes->maxDynamicSharedSizeBytes = value;
  attributes->binaryVersion = attributes->ptxVersion = 10 * null_gpu_capability(0) + null_gpu_capability(1);
  attributes->numRegs = kNullGpuRegisters;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t shared_bytes) {
  return *blocks = null_gpu_blocks(threads, kNullGpuRegisters, shared_bytes), cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int threads,
                                                                   std::size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}

/// A function of the driver that driver.cpp lacks: returns an error.
int null_gpu_driver_call() {
  constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED
  null_gpu_count("driver call that is not supported");
  return kNotSupported;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  static void* const driver_library = dlopen("libcuda.so.1", RTLD_NOW);
  *function = driver_library ? dlsym(driver_library, name) : nullptr;
  if (!*function) *function = reinterpret_cast<void*>(&null_gpu_driver_call);
  if (result) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

// Called by compiled kernels themselves.
void** __cudaRegisterFatBinary(void*) {
  static void* handle[1];
  return handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*, void*, int*) {
  kernel_names().add(function, name);
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
char __cudaInitModule(void**) { return 1; }
thread_local struct {
  dim3 grid, block;
  std::size_t shared;
  void* stream;
} t_launch;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  t_launch.grid = grid;
  t_launch.block = block;
  t_launch.shared = shared;
  t_launch.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = t_launch.grid;
  *block = t_launch.block;
  *shared = t_launch.shared;
  *static_cast<void**>(stream) = t_launch.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return launched(kernel, stream);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return launched(kernel, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
  return launched(kernel, config->stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return launched(kernel, stream);
}
}
