// An H100's (SXM5) answers to queries of its limits.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "null_gpu.hpp"

namespace {

constexpr int kThreadsPerBlock = 1024;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kWarp = 32;
constexpr int kRegisters = 65536;  // of a multiprocessor; one block may have all of them
constexpr int kSharedBytesPerMultiprocessor = 233472;
constexpr int kReservedSharedBytes = 1024;  // of each block, by the driver
constexpr int kWide = 131072, kMiddle = 32768, kDeep = 16384, kLayers = 2048, kCubeLayers = 2046;  // of textures

struct Limit {
  int attribute, value;
};

/// Attributes are numbers of cudaDeviceAttr and CUdevice_attribute, which are the same; names are those of CUDA 13. Sizes are
/// an H100's; a capability is 1 if the null GPU has it as well. null_gpu_limit adds values that differ between GPUs.
constexpr Limit kLimits[] = {
    {1, kThreadsPerBlock},                // MaxThreadsPerBlock
    {2, 1024},                            // MaxBlockDimX
    {3, 1024},                            // MaxBlockDimY
    {4, 64},                              // MaxBlockDimZ
    {5, INT_MAX},                         // MaxGridDimX
    {6, 65535},                           // MaxGridDimY
    {7, 65535},                           // MaxGridDimZ
    {8, 49152},                           // MaxSharedMemoryPerBlock
    {9, 65536},                           // TotalConstantMemory
    {10, kWarp},                          // WarpSize
    {11, INT_MAX},                        // MaxPitch
    {12, kRegisters},                     // MaxRegistersPerBlock
    {13, 1980000},                        // ClockRate
    {14, 512},                            // TextureAlignment
    {15, 1},                              // GpuOverlap
    {16, 132},                            // MultiProcessorCount
    {17, 0},                              // KernelExecTimeout
    {18, 0},                              // Integrated
    {19, 1},                              // CanMapHostMemory
    {20, 0},                              // ComputeMode
    {21, kWide},                          // MaxTexture1DWidth
    {22, kWide},                          // MaxTexture2DWidth
    {23, 65536},                          // MaxTexture2DHeight
    {24, kDeep},                          // MaxTexture3DWidth
    {25, kDeep},                          // MaxTexture3DHeight
    {26, kDeep},                          // MaxTexture3DDepth
    {27, kMiddle},                        // MaxTexture2DLayeredWidth
    {28, kMiddle},                        // MaxTexture2DLayeredHeight
    {29, kLayers},                        // MaxTexture2DLayeredLayers
    {30, 512},                            // SurfaceAlignment
    {31, 1},                              // ConcurrentKernels
    {32, 1},                              // EccEnabled
    {34, 0},                              // PciDeviceId
    {35, 0},                              // TccDriver
    {36, 2619000},                        // MemoryClockRate
    {37, 5120},                           // GlobalMemoryBusWidth
    {38, 50 << 20},                       // L2CacheSize
    {39, kThreadsPerMultiprocessor},      // MaxThreadsPerMultiProcessor
    {40, 3},                              // AsyncEngineCount
    {41, 1},                              // UnifiedAddressing
    {42, kMiddle},                        // MaxTexture1DLayeredWidth
    {43, kLayers},                        // MaxTexture1DLayeredLayers
    {45, kMiddle},                        // MaxTexture2DGatherWidth
    {46, kMiddle},                        // MaxTexture2DGatherHeight
    {47, kDeep / 2},                      // MaxTexture3DWidthAlt
    {48, kDeep / 2},                      // MaxTexture3DHeightAlt
    {49, kMiddle},                        // MaxTexture3DDepthAlt
    {50, 0},                              // PciDomainId
    {51, 32},                             // TexturePitchAlignment
    {52, kMiddle},                        // MaxTextureCubemapWidth
    {53, kMiddle},                        // MaxTextureCubemapLayeredWidth
    {54, kCubeLayers},                    // MaxTextureCubemapLayeredLayers
    {55, kMiddle},                        // MaxSurface1DWidth
    {56, kWide},                          // MaxSurface2DWidth
    {57, 65536},                          // MaxSurface2DHeight
    {58, kDeep},                          // MaxSurface3DWidth
    {59, kDeep},                          // MaxSurface3DHeight
    {60, kDeep},                          // MaxSurface3DDepth
    {61, kMiddle},                        // MaxSurface1DLayeredWidth
    {62, kLayers},                        // MaxSurface1DLayeredLayers
    {63, kMiddle},                        // MaxSurface2DLayeredWidth
    {64, kMiddle},                        // MaxSurface2DLayeredHeight
    {65, kLayers},                        // MaxSurface2DLayeredLayers
    {66, kMiddle},                        // MaxSurfaceCubemapWidth
    {67, kMiddle},                        // MaxSurfaceCubemapLayeredWidth
    {68, kCubeLayers},                    // MaxSurfaceCubemapLayeredLayers
    {69, 1 << 28},                        // MaxTexture1DLinearWidth
    {70, kWide},                          // MaxTexture2DLinearWidth
    {71, 65000},                          // MaxTexture2DLinearHeight
    {72, 2097120},                        // MaxTexture2DLinearPitch
    {73, kMiddle},                        // MaxTexture2DMipmappedWidth
    {74, kMiddle},                        // MaxTexture2DMipmappedHeight
    {77, kMiddle},                        // MaxTexture1DMipmappedWidth
    {78, 1},                              // StreamPrioritiesSupported
    {79, 1},                              // GlobalL1CacheSupported
    {80, 1},                              // LocalL1CacheSupported
    {81, kSharedBytesPerMultiprocessor},  // MaxSharedMemoryPerMultiprocessor
    {82, kRegisters},                     // MaxRegistersPerMultiprocessor
    {83, 0},                              // ManagedMemory
    {84, 0},                              // IsMultiGpuBoard
    {85, 0},                              // MultiGpuBoardGroupID
    {86, 0},                              // HostNativeAtomicSupported
    {87, 2},                              // SingleToDoublePrecisionPerfRatio
    {88, 0},                              // PageableMemoryAccess
    {89, 0},                              // ConcurrentManagedAccess
    {90, 1},                              // ComputePreemptionSupported
    {91, 1},                              // CanUseHostPointerForRegisteredMem
    {92, 0},                              // CAN_USE_STREAM_MEM_OPS_V1
    {93, 0},                              // CAN_USE_64_BIT_STREAM_MEM_OPS_V1
    {94, 0},                              // CAN_USE_STREAM_WAIT_VALUE_NOR_V1
    {95, 1},                              // CooperativeLaunch
    {96, 1},                              // COOPERATIVE_MULTI_DEVICE_LAUNCH
    {97, 232448},                         // MaxSharedMemoryPerBlockOptin
    {98, 0},                              // CanFlushRemoteWrites
    {99, 1},                              // HostRegisterSupported
    {100, 0},                             // PageableMemoryAccessUsesHostPageTables
    {101, 0},                             // DirectManagedMemAccessFromHost
    {102, 0},                             // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {103, 0},                             // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    {104, 0},                             // HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
    {105, 0},                             // HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    {106, kBlocksPerMultiprocessor},      // MaxBlocksPerMultiprocessor
    {107, 0},                             // GENERIC_COMPRESSION_SUPPORTED
    {108, 31 << 20},                      // MaxPersistingL2CacheSize
    {109, 134213632},                     // MaxAccessPolicyWindowSize
    {110, 0},                             // GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
    {111, kReservedSharedBytes},          // ReservedSharedMemoryPerBlock
    {112, 0},                             // SparseCudaArraySupported
    {113, 0},                             // HostRegisterReadOnlySupported
    {114, 0},                             // TimelineSemaphoreInteropSupported
    {115, 0},                             // MemoryPoolsSupported
    {116, 0},                             // GPUDirectRDMASupported
    {117, 0},                             // GPUDirectRDMAFlushWritesOptions
    {118, 0},                             // GPUDirectRDMAWritesOrdering
    {119, 0},                             // MemoryPoolSupportedHandleTypes
    {120, 1},                             // ClusterLaunch
    {121, 0},                             // DeferredMappingCudaArraySupported
    {122, 0},                             // CAN_USE_64_BIT_STREAM_MEM_OPS
    {123, 0},                             // CAN_USE_STREAM_WAIT_VALUE_NOR
    {124, 0},                             // DMA_BUF_SUPPORTED
    {125, 0},                             // IpcEventSupport
    {126, 4},                             // MemSyncDomainCount
    {127, 1},                             // TENSOR_MAP_ACCESS_SUPPORTED
    {128, 0},                             // HANDLE_TYPE_FABRIC_SUPPORTED
    {129, 1},                             // UNIFIED_FUNCTION_POINTERS
    {130, 0},                             // NumaConfig
    {131, -1},                            // NumaId: its memory is no node of the host
    {132, 0},                             // MULTICAST_SUPPORTED
    {133, 0},                             // MpsEnabled
    {134, 0},                             // HostNumaId
    {135, 0},                             // D3D12CigSupported
    {136, 0},                             // MEM_DECOMPRESS_ALGORITHM_MASK
    {137, 0},                             // MEM_DECOMPRESS_MAXIMUM_LENGTH
    {138, 0},                             // VulkanCigSupported
    {139, 0x233010de},                    // GpuPciDeviceId
    {140, 0x16c110de},                    // GpuPciSubsystemId
    {141, 0},                             // HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {142, 0},                             // HostNumaMemoryPoolsSupported
    {143, 0},                             // HostNumaMultinodeIpcSupported
    {144, 0},                             // HostMemoryPoolsSupported
    {145, 0},                             // HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {146, 0},                             // HOST_ALLOC_DMA_BUF_SUPPORTED
    {147, 0},                             // OnlyPartialHostNativeAtomicSupported
};

int round_up(int value, int step) { return (value + step - 1) / step * step; }

}  // namespace

int null_gpu_capability(int part) {
  const char* text = std::getenv("NULL_GPU_CAPABILITY");
  const char* dot = text ? std::strchr(text, '.') : nullptr;
  if (!dot) return part == 0 ? 9 : 0;
  return std::atoi(part == 0 ? text : dot + 1);
}

int null_gpu_limit(int attribute, int device, int* value) {
  constexpr int kPciBusId = 33, kCapability = 75;  // major; minor is the next one
  if (attribute == kPciBusId) return *value = device + 1, 1;
  if (attribute == kCapability || attribute == kCapability + 1) return *value = null_gpu_capability(attribute - kCapability), 1;
  const auto* const found =
      std::find_if(std::begin(kLimits), std::end(kLimits), [=](const Limit& each) { return each.attribute == attribute; });
  if (found == std::end(kLimits)) return 0;
  *value = found->value;
  return 1;
}

int null_gpu_blocks(int threads, int registers, std::size_t shared_bytes) {
  if (threads < 1 || threads > kThreadsPerBlock) return 0;
  const int whole_warps = round_up(threads, kWarp);
  const auto shared = static_cast<int>(std::min<std::size_t>(shared_bytes, INT_MAX / 2)) + kReservedSharedBytes;
  return std::min({kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / whole_warps,
                   kRegisters / (std::max(registers, 1) * whole_warps), kSharedBytesPerMultiprocessor / shared});
}
