#include <c10/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "devices/cuda_parts.hpp"

namespace hpcbench::train {

namespace {

constexpr double kSecondsPerMillisecond = 1e-3;

/// Records four events: begin and end of the work in the side stream, and before and after the wait for its end in the
/// computing stream.
class CudaSpan final : public Span {
 public:
  explicit CudaSpan(c10::DeviceIndex gpu) : gpu_(gpu) {}

  void mark_begin(const c10::cuda::CUDAStream& side) { begun_.record(side); }
  void mark_end(const c10::cuda::CUDAStream& side) { ended_.record(side); }

  void hold_computing() override {
    const c10::cuda::CUDAStream computing = c10::cuda::getCurrentCUDAStream(gpu_);
    held_.record(computing);
    ended_.block(computing);
    let_through_.record(computing);
    is_awaited_ = true;
  }

  std::optional<SpanTimes> times() const override {
    if (!is_awaited_ || !let_through_.query()) return std::nullopt;
    return SpanTimes{begun_.elapsed_time(ended_) * kSecondsPerMillisecond,
                     held_.elapsed_time(let_through_) * kSecondsPerMillisecond};
  }

 private:
  c10::DeviceIndex gpu_;
  bool is_awaited_ = false;
  // cudaEventDefault: with times.
  c10::cuda::CUDAEvent begun_{cudaEventDefault};
  c10::cuda::CUDAEvent ended_{cudaEventDefault};
  c10::cuda::CUDAEvent held_{cudaEventDefault};
  c10::cuda::CUDAEvent let_through_{cudaEventDefault};
};

class CudaSideStream final : public SideStream {
 public:
  explicit CudaSideStream(c10::DeviceIndex gpu)
      : gpu_(gpu), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, gpu)) {}

  std::shared_ptr<Span> enqueue(const std::function<void()>& work) override {
    auto span = std::make_shared<CudaSpan>(gpu_);
    c10::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(gpu_));
    ready.block(stream_);
    const c10::cuda::CUDAStreamGuard guard(stream_);
    span->mark_begin(stream_);
    work();
    span->mark_end(stream_);
    return span;
  }

 private:
  c10::DeviceIndex gpu_;
  c10::cuda::CUDAStream stream_;
};

class CudaLap final : public Lap {
 public:
  explicit CudaLap(c10::DeviceIndex gpu) : gpu_(gpu) { begun_.record(c10::cuda::getCurrentCUDAStream(gpu_)); }
  void end() override {
    ended_.record(c10::cuda::getCurrentCUDAStream(gpu_));
    has_ended_ = true;
  }
  std::optional<double> seconds() const override {
    if (!has_ended_ || !ended_.query()) return std::nullopt;
    return begun_.elapsed_time(ended_) * kSecondsPerMillisecond;
  }

 private:
  c10::DeviceIndex gpu_;
  bool has_ended_ = false;
  c10::cuda::CUDAEvent begun_{cudaEventDefault};  // with times
  c10::cuda::CUDAEvent ended_{cudaEventDefault};
};

}  // namespace

std::unique_ptr<Lap> begin_cuda_lap(at::Device place) { return std::make_unique<CudaLap>(place.index()); }

std::unique_ptr<SideStream> make_cuda_stream(at::Device place) { return std::make_unique<CudaSideStream>(place.index()); }

}  // namespace hpcbench::train
