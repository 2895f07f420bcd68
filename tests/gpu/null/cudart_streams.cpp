// libcudart: streams, events, captures and graphs. capture.hpp states what CUDA allows.
#include <cstdlib>

#include "capture.hpp"
#include "cudart.hpp"
#include "null_gpu.hpp"

// The header renames these for code that uses them.
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies

namespace {

cudaError_t new_handle(const char* name, void** handle) {
  *handle = std::calloc(1, 64);
  return called(name);
}

cudaError_t new_stream(cudaStream_t* stream, unsigned flags) {
  const cudaError_t error = new_handle("cudaStreamCreate", reinterpret_cast<void**>(stream));
  if (!(flags & cudaStreamNonBlocking)) null_gpu_blocking_stream(*stream);
  return error;
}

/// The host waits here, if it must.
cudaError_t waited(int refused) {
  if (!refused) null_gpu_count("host waits");
  return answer(refused);
}

cudaError_t instantiated(const char* name, cudaGraphExec_t* executable, cudaGraph_t graph) {
  void* made = nullptr;
  cudaError_t error = called(name);
  if (error == cudaSuccess) error = answer(null_gpu_instantiate(graph, &made));
  *executable = static_cast<cudaGraphExec_t>(made);
  return error;
}

/// Parts of graphs that LibTorch uses only for conditions, which the null GPU lacks.
cudaError_t not_supported(const char* name) {
  const cudaError_t error = called(name);
  return error != cudaSuccess ? error : set_last(cudaErrorNotSupported);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return new_stream(stream, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return new_stream(stream, flags); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) { return new_stream(stream, flags); }
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t error = called("cudaStreamQuery");
  return error != cudaSuccess ? error : answer(null_gpu_await(stream));
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const cudaError_t error = called("cudaStreamSynchronize");
  return error != cudaSuccess ? error : waited(null_gpu_await(stream));
}
cudaError_t cudaDeviceSynchronize() {
  const cudaError_t error = called("cudaDeviceSynchronize");
  return error != cudaSuccess ? error : waited(null_gpu_await_all());
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (flags == cudaEventWaitExternal) return not_supported("cudaStreamWaitEvent");
  const cudaError_t error = called("cudaStreamWaitEvent");
  return error != cudaSuccess ? error : answer(null_gpu_wait_event(stream, event));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return new_handle("cudaEventCreate", reinterpret_cast<void**>(event)); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  null_gpu_forget_event(event);
  return std::free(event), cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const cudaError_t error = called("cudaEventRecord");
  return error != cudaSuccess ? error : answer(null_gpu_record_event(event, stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return flags == cudaEventRecordExternal ? not_supported("cudaEventRecordWithFlags") : cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const cudaError_t error = called("cudaEventQuery");
  return error != cudaSuccess ? error : answer(null_gpu_await_event(event));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const cudaError_t error = called("cudaEventSynchronize");
  return error != cudaSuccess ? error : waited(null_gpu_await_event(event));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = 1;
  const int refused = null_gpu_await_event(begin);
  return answer(refused ? refused : null_gpu_await_event(end));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  int number = *mode;
  const cudaError_t error = answer(null_gpu_exchange_mode(&number));
  *mode = static_cast<cudaStreamCaptureMode>(number);
  return error;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const cudaError_t error = called("cudaStreamBeginCapture");
  return error != cudaSuccess ? error : answer(null_gpu_begin_capture(stream, mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  void* made = nullptr;
  const cudaError_t refused = answer(null_gpu_end_capture(stream, &made));
  *graph = static_cast<cudaGraph_t>(made);
  const cudaError_t error = called("cudaStreamEndCapture");
  return error != cudaSuccess ? error : refused;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  int number = 0;
  unsigned long long of = 0;
  const cudaError_t error = answer(null_gpu_capture_status(stream, &number, &of));
  *status = static_cast<cudaStreamCaptureStatus>(number);
  if (id) *id = of;
  // An incomplete graph must not be inspected.
  if (graph) *graph = nullptr;
  if (nodes) *nodes = nullptr;
  if (edges) *edges = nullptr;
  if (count) *count = 0;
  return error;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes) return not_supported("cudaGraphGetNodes");
  const cudaError_t error = called("cudaGraphGetNodes");
  return error != cudaSuccess ? error : answer(null_gpu_graph_nodes(graph, count));
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return instantiated("cudaGraphInstantiate", executable, graph);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return instantiated("cudaGraphInstantiateWithFlags", executable, graph);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const cudaError_t error = called("cudaGraphLaunch");
  return error != cudaSuccess ? error : answer(null_gpu_launch(executable, stream));
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const cudaError_t error = called("cudaGraphDestroy");
  return error != cudaSuccess ? error : answer(null_gpu_destroy_graph(graph));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const cudaError_t error = called("cudaGraphExecDestroy");
  return error != cudaSuccess ? error : answer(null_gpu_destroy_graph(executable));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*,
                                          std::size_t, cudaStreamCaptureMode) {
  return not_supported("cudaStreamBeginCaptureToGraph");
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*, std::size_t,
                                                unsigned) {
  return not_supported("cudaStreamUpdateCaptureDependencies");
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*, std::size_t,
                             cudaGraphNodeParams*) {
  return not_supported("cudaGraphAddNode");
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle*, cudaGraph_t, unsigned, unsigned) {
  return not_supported("cudaGraphConditionalHandleCreate");
}
}
