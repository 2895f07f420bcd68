#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "strategies/shared_memory.hpp"

namespace hpcbench::train {

/// Runs SharedMemory's sums and gathers in a separate thread beside the computing one: each begins when the earlier ones have
/// ended. All ranks begin the same ones in the same order. Tensors are flat, contiguous, of fp32 or fp64, on the CPU.
class HostExchange {
 public:
  explicit HostExchange(std::unique_ptr<SharedMemory> memory);
  ~HostExchange();
  HostExchange(const HostExchange&) = delete;
  HostExchange& operator=(const HostExchange&) = delete;

  using Work = c10::intrusive_ptr<c10d::Work>;
  /// See SharedMemory. The work's future has the tensor, like an allreduce's. A failure also fails the later works.
  Work sum(const at::Tensor& flat);
  Work sum_own_chunk(const at::Tensor& flat);
  Work gather(const at::Tensor& flat);

 private:
  using Future = c10::intrusive_ptr<c10::ivalue::Future>;
  struct Task {
    std::function<void()> work;
    at::Tensor flat;
    Future future;
  };
  Work enqueue(const at::Tensor& flat, std::function<void()> work);
  void serve();

  std::unique_ptr<SharedMemory> memory_;
  std::exception_ptr failure_;  // of the serving thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hpcbench::train
