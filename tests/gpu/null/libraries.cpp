// cuBLAS, cuBLASLt and cuDNN: functions that must answer more than "done". make_null_gpu.py compiles this once for each
// library, with its name defined.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "capture.hpp"
#include "null_gpu.hpp"

extern "C" {

#ifdef NULL_GPU_CUBLASLT
/// One algorithm for every product: cublasLtMatmulAlgoGetHeuristic writes the number of algorithms. Its result is 64 + 8 + 8
/// bytes and more.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void* results, int* found) {
  std::memset(results, 0, 96);
  *found = 1;
  return static_cast<int>(null_gpu_call("cublasLtMatmulAlgoGetHeuristic"));
}
/// The only product that receives its stream directly, not by its handle.
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*, void*,
                   void*, const void*, void*, std::size_t, void* stream) {
  const int refused = null_gpu_work(stream, "product", nullptr);
  return refused ? refused : static_cast<int>(null_gpu_call("cublasLtMatmul"));
}
std::size_t cublasLtGetVersion() { return 130101; }
#endif

#ifdef NULL_GPU_CUDNN
namespace {
constexpr int kLstmMatrices = 8;  // of a layer: four gates of the input, four of the state

/// The content of a descriptor's memory.
struct Rnn {
  std::size_t element_bytes, input, hidden, layers;

  std::size_t width(std::size_t layer, int matrix) const { return matrix < kLstmMatrices / 2 && layer == 0 ? input : hidden; }
  std::size_t matrices(std::size_t layer) const { return kLstmMatrices / 2 * hidden * (width(layer, 0) + hidden); }
  std::size_t all_matrices(std::size_t end) const {
    std::size_t sum = 0;
    for (std::size_t layer = 0; layer < end; ++layer) sum += matrices(layer);
    return sum;
  }
};
struct Shape {
  int type, dims[3];
};
}  // namespace

std::size_t cudnnGetVersion() { return 92000; }
const char* cudnnGetErrorString(int status) {
  constexpr int kDeviceAllocationFailed = 4004;
  return status == kDeviceAllocationFailed ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"
                                           : "an error of the null GPU";
}
std::size_t cudnnGetCudartVersion() { return 13000; }
int cudnnDropoutGetStatesSize(void*, std::size_t* bytes) { return *bytes = 4096, 0; }

int cudnnSetRNNDescriptor_v8(void* rnn, int, int, int, int, int, int type, int, int, std::int32_t input, std::int32_t hidden,
                             std::int32_t, std::int32_t layers, void*, std::uint32_t) {
  constexpr int kDouble = 1, kHalf = 2;  // cudnnDataType_t
  const std::size_t bytes = type == kDouble ? 8 : type == kHalf ? 2 : 4;
  *static_cast<Rnn*>(rnn) = {bytes, static_cast<std::size_t>(input), static_cast<std::size_t>(hidden),
                             static_cast<std::size_t>(layers)};
  return static_cast<int>(null_gpu_call("cudnnSetRNNDescriptor_v8"));
}
int cudnnGetRNNWeightSpaceSize(void*, void* rnn, std::size_t* bytes) {
  const Rnn& of = *static_cast<const Rnn*>(rnn);
  *bytes = of.element_bytes * (of.all_matrices(of.layers) + of.layers * kLstmMatrices * of.hidden);
  return 0;
}
int cudnnGetRNNTempSpaceSizes(void*, void*, int, void*, std::size_t* work, std::size_t* reserve) {
  if (work) *work = 4096;
  if (reserve) *reserve = 4096;
  return 0;
}
int cudnnGetRNNWeightParams(void*, void* rnn, std::int32_t layer, std::size_t, const void* space, std::int32_t matrix,
                            void* matrix_shape, void** matrix_begin, void* bias_shape, void** bias_begin) {
  const Rnn& of = *static_cast<const Rnn*>(rnn);
  const auto at = static_cast<std::size_t>(layer);
  const auto number = static_cast<std::size_t>(matrix);
  constexpr std::size_t kHalfOfThem = kLstmMatrices / 2;
  const std::size_t before = number < kHalfOfThem
                                 ? number * of.hidden * of.width(at, 0)
                                 : kHalfOfThem * of.hidden * of.width(at, 0) + (number - kHalfOfThem) * of.hidden * of.hidden;
  char* const begin = static_cast<char*>(const_cast<void*>(space));
  const int rows = static_cast<int>(of.hidden);
  // Either may be omitted.
  if (matrix_shape) *static_cast<Shape*>(matrix_shape) = {0, {1, rows, static_cast<int>(of.width(at, matrix))}};
  if (matrix_begin) *matrix_begin = begin + of.element_bytes * (of.all_matrices(at) + before);
  if (bias_shape) *static_cast<Shape*>(bias_shape) = {0, {1, rows, 1}};
  if (bias_begin)
    *bias_begin = begin + of.element_bytes * (of.all_matrices(of.layers) + (at * kLstmMatrices + number) * of.hidden);
  return 0;
}
int cudnnGetTensorNdDescriptor(void* shape, int, int* type, int* count, int* dims, int* strides) {
  const Shape& of = *static_cast<const Shape*>(shape);
  *type = of.type;
  *count = 3;
  for (int index = 0; index < 3; ++index) dims[index] = of.dims[index];
  strides[2] = 1;
  strides[1] = dims[2];
  strides[0] = dims[1] * dims[2];
  return 0;
}
#endif
}
