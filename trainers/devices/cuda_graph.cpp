#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "devices/cuda_parts.hpp"

namespace hpcbench::train {

namespace {

class CudaGraphWork final : public CapturedWork {
 public:
  CudaGraphWork(at::Device place, const std::function<std::vector<at::Tensor>()>& work) {
    const c10::cuda::CUDAGuard guard(place);
    // A graph has its own memory pool: tensors that LibTorch's cache keeps would take memory in addition.
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
    try {
      graph_.capture_begin();
      call(work);
      graph_.capture_end();
    } catch (c10::Error& error) {
      error.add_context("while a step was captured as a CUDA graph: `cuda_graphs: false` does without");
      throw;
    }
  }

  void replay() override { graph_.replay(); }

 private:
  void call(const std::function<std::vector<at::Tensor>()>& work) {
    try {
      results_ = work();
    } catch (...) {
      // Ends the capture so that the caller, who reports the first failure and not that of ending, can use the stream.
      try {
        graph_.capture_end();
      } catch (const std::exception&) {
      }
      throw;
    }
  }

  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<CapturedWork> capture_cuda_graph(at::Device place, const std::function<std::vector<at::Tensor>()>& work) {
  return std::make_unique<CudaGraphWork>(place, work);
}

void use_own_stream(at::Device place) {
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, place.index()));
}

}  // namespace hpcbench::train
