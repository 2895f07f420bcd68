#pragma once

#include <cstddef>

/// Streams that capture, and the graphs that come of it, as CUDA has them. libnullgpu.so keeps them for all libraries, and
/// needs no header of CUDA: handles are opaque addresses, answers are numbers of cudaError_t (CUresult has the
/// same).
///
/// Work that is put into a stream is done at once. In a stream that captures it is recorded, and done by each launch of the
/// graph, in the order in which it was recorded. It is counted by what it is (`kernel`, `product`, `memset`, `copy to device`,
/// `copy to host`, `copy on device`):
///   kernel                done at once
///   captured kernel       recorded
///   kernel in a graph     done by the launch of a graph
///   graph launch          a launch
///   capture invalidated   a capture meets the first call that CUDA forbids to it, and will end with an error
///
/// Stricter than CUDA:
/// - The legacy stream may not be used where unsafe calls are forbidden. CUDA forbids it only while a stream captures that was
///   made without cudaStreamNonBlocking; else the work is done beside the capture, and is not in the graph.
/// - To ask or await any stream or event is an unsafe call.
/// - An event that was never recorded is one from outside the capture.
/// - A graph or a collective in a stream that captures is refused, not recorded; so are external events and conditional nodes.
/// Not checked:
/// - Memory that a graph uses and that is freed before the graph is launched.
/// - Which GPU a stream belongs to: a GPU that is awaited counts as all of them.
/// - A stream that is destroyed while it captures, and a fork without work that is never joined.
/// - Calls that no step makes, of cuFFT, cuSPARSE, cuSOLVER, of convolutions, cudaMemcpy2DAsync, cudaMallocAsync and
///   cudaStreamAddCallback: they are counted, and neither recorded nor refused.
extern "C" {
/// Work without effect on memory: a kernel (`name` is its own, or null), a product.
int null_gpu_work(void* stream, const char* what, const char* name);
/// A product of a library, in the last stream of its handle (none: the legacy one).
int null_gpu_product(void* handle);
void null_gpu_set_stream(void* handle, void* stream);
/// is_pageable: host memory that is not pinned. A capture refuses it.
int null_gpu_copy(void* stream, const char* what, void* to, const void* from, std::size_t bytes, int is_pageable);
int null_gpu_memset(void* stream, void* to, int value, std::size_t bytes);
/// Work that the null GPU cannot record: refused if the stream captures.
int null_gpu_unrecordable(void* stream);

/// A call that is no work in a stream, like cudaMalloc: refused by captures that do not allow it for this thread.
int null_gpu_unsafe();
/// The host queries or awaits a stream, or all of them.
int null_gpu_await(void* stream);
int null_gpu_await_all();
/// A stream for which the legacy stream waits: made without cudaStreamNonBlocking.
void null_gpu_blocking_stream(void* stream);

int null_gpu_record_event(void* event, void* stream);
/// The stream waits for the event, and so joins the capture that recorded it.
int null_gpu_wait_event(void* stream, void* event);
/// The host queries or awaits the event.
int null_gpu_await_event(void* event);
void null_gpu_forget_event(void* event);

/// Modes: 0 global, 1 of the thread, 2 relaxed. This one swaps the calling thread's.
int null_gpu_exchange_mode(int* mode);
int null_gpu_begin_capture(void* stream, int mode);
/// graph: null if the capture has failed.
int null_gpu_end_capture(void* stream, void** graph);
/// Status: 0 none, 1 captures, 2 invalidated. The id is not 0 if the stream captures.
int null_gpu_capture_status(void* stream, int* status, unsigned long long* id);

int null_gpu_graph_nodes(void* graph, std::size_t* count);
/// An executable graph with the same nodes.
int null_gpu_instantiate(void* graph, void** executable);
int null_gpu_launch(void* executable, void* stream);
/// Either kind of graph.
int null_gpu_destroy_graph(void* graph);
}
