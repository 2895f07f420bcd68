// libnccl: a collective ends at once, as if every rank had given the same as this one. No rank waits for another; a fault on
// request (null_gpu.hpp) makes one that hangs. In a capturing stream it is refused.
#include <nccl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "capture.hpp"
#include "null_gpu.hpp"

struct ncclComm {
  int ranks = 1;
  int rank = 0;
};

namespace {

ncclResult_t called(const char* name) {
  null_gpu_count("collective");
  return static_cast<ncclResult_t>(null_gpu_call(name));
}

std::size_t bytes_of(std::size_t count, ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return count;
    case ncclFloat16:
    case ncclBfloat16:
      return 2 * count;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4 * count;
    default:
      return 8 * count;
  }
}

template <class T>
void multiply(void* numbers, std::size_t count, int factor) {
  for (std::size_t index = 0; index < count; ++index) static_cast<T*>(numbers)[index] *= static_cast<T>(factor);
}

/// Returns the sum of `ranks` times the same; bf16 and fp16 are unchanged.
void reduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation, int ranks) {
  std::memmove(to, from, bytes_of(count, type));
  if (operation != ncclSum) return;
  if (type == ncclFloat32) multiply<float>(to, count, ranks);
  if (type == ncclFloat64) multiply<double>(to, count, ranks);
  if (type == ncclInt64) multiply<std::int64_t>(to, count, ranks);
}

/// Like NCCL with NCCL_DEBUG=INFO: rank 0 has a neighbour on its node, the others are connected by TCP.
void log_connections(int rank) {
  const char* const level = std::getenv("NCCL_DEBUG");
  const char* const file = std::getenv("NCCL_DEBUG_FILE");
  if (!level || std::strcmp(level, "INFO") != 0 || !file) return;
  std::string path = file;
  if (const std::size_t pid = path.find("%p"); pid != std::string::npos) path.replace(pid, 2, std::to_string(getpid()));
  std::FILE* const log = std::fopen(path.c_str(), "a");
  if (!log) return;
  const char* const via = rank == 0 ? "via P2P/IPC" : "[send] via NET/Socket/0";
  std::fprintf(log, "null:1:1 [0] NCCL INFO ncclCommInitRankConfig comm 0x0 rank %d - Init START\n", rank);
  std::fprintf(log, "null:1:1 [0] NCCL INFO Using network Socket\nnull:1:1 [0] NCCL INFO Channel 00/0 : %d[0] -> 1[1] %s\n",
               rank, via);
  std::fclose(log);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { return std::memset(id, 1, sizeof *id), called("ncclGetUniqueId"); }
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId, int rank, ncclConfig_t*) {
  log_connections(rank);
  *comm = new ncclComm{ranks, rank};
  return called("ncclCommInitRankConfig");
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int, ncclUniqueId* ids, ncclConfig_t* config) {
  return ncclCommInitRankConfig(comm, ranks, *ids, rank, config);
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) { return *count = comm->ranks, ncclSuccess; }
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) { return *rank = comm->rank, ncclSuccess; }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) { return *error = ncclSuccess, ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t) { return "an error of the null GPU's NCCL"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  if (null_gpu_unrecordable(stream)) return ncclUnhandledCudaError;
  reduce(from, to, count, type, operation, comm->ranks);
  return called("ncclAllReduce");
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t comm, cudaStream_t stream) {
  if (null_gpu_unrecordable(stream)) return ncclUnhandledCudaError;
  const std::size_t offset = bytes_of(count, type) * static_cast<std::size_t>(comm->rank);
  reduce(static_cast<const char*>(from) + offset, to, count, type, operation, comm->ranks);
  return called("ncclReduceScatter");
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  if (null_gpu_unrecordable(stream)) return ncclUnhandledCudaError;
  const std::size_t bytes = bytes_of(count, type);
  for (int rank = 0; rank < comm->ranks; ++rank)
    std::memmove(static_cast<char*>(to) + static_cast<std::size_t>(rank) * bytes, from, bytes);
  return called("ncclAllGather");
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int, ncclComm_t,
                           cudaStream_t stream) {
  if (null_gpu_unrecordable(stream)) return ncclUnhandledCudaError;
  std::memmove(to, from, bytes_of(count, type));
  return called("ncclBroadcast");
}
ncclResult_t ncclBcast(void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) { return called("ncclBroadcast"); }
}
