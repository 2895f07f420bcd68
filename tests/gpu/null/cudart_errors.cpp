// libcudart: errors and CUDA's names for them.
#include "cudart.hpp"
#include "null_gpu.hpp"

namespace {

thread_local cudaError_t t_last = cudaSuccess;

struct Words {
  cudaError_t error;
  const char* name;
  const char* text;
};
#define WORDS(name, text) \
  { name, #name, text }
constexpr Words kWords[] = {
    WORDS(cudaErrorMemoryAllocation, "out of memory"),
    WORDS(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    WORDS(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    WORDS(cudaErrorInvalidDevice, "invalid device ordinal"),
    WORDS(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    WORDS(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    WORDS(cudaErrorNotSupported, "operation not supported"),
    WORDS(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    WORDS(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    WORDS(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    WORDS(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    WORDS(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    WORDS(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    WORDS(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"),
    WORDS(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    WORDS(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
};
#undef WORDS

Words words_of(cudaError_t error) {
  for (const Words& each : kWords)
    if (each.error == error) return each;
  return {error, "cudaErrorNull", "an error of the null GPU"};
}

}  // namespace

cudaError_t set_last(cudaError_t error) {
  if (error != cudaSuccess) t_last = error;
  return error;
}
cudaError_t answer(int error) { return set_last(static_cast<cudaError_t>(error)); }
cudaError_t called(const char* name) { return answer(static_cast<int>(null_gpu_call(name))); }

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t last = t_last;
  t_last = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() { return t_last; }
const char* cudaGetErrorName(cudaError_t error) { return words_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return words_of(error).text; }
}
