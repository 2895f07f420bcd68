#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hpcbench::train {

/// One thread per logical device; together they use the threads allowed for LibTorch.
class DeviceThreads {
 public:
  explicit DeviceThreads(std::size_t devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  /// Calls `work(d)` in the threads of the first `devices` devices, with this thread's autograd state, and waits for all;
  /// rethrows the first exception.
  void run(std::size_t devices, const std::function<void(std::size_t device)>& work);

 private:
  void serve(std::size_t device, int threads);

  std::vector<std::thread> threads_;
  std::vector<std::exception_ptr> errors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;  // by device; null: nothing to do
  bool stop_ = false;
};

}  // namespace hpcbench::train
