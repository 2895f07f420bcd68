#include "strategies/device_threads.hpp"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>

namespace hpcbench::train {

DeviceThreads::DeviceThreads(std::size_t devices)
    : errors_(devices), tasks_(devices) {  // NOLINT(bugprone-throw-keyword-missing): a vector of exceptions, none thrown
  const int threads = std::max(1, at::get_num_threads() / static_cast<int>(devices));
  for (std::size_t device = 0; device < devices; ++device)
    threads_.emplace_back([this, device, threads] { serve(device, threads); });
}

DeviceThreads::~DeviceThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceThreads::serve(std::size_t device, int threads) {
  at::set_num_threads(threads);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || tasks_[device]; });
    if (stop_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      tasks_[device]();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    errors_[device] = error;
    tasks_[device] = nullptr;
    changed_.notify_all();
  }
}

void DeviceThreads::run(std::size_t devices, const std::function<void(std::size_t device)>& work) {
  const at::ThreadLocalState state;
  std::unique_lock lock(mutex_);
  for (std::size_t device = 0; device < devices; ++device) {
    errors_[device] = nullptr;
    tasks_[device] = [&work, &state, device] {
      const at::ThreadLocalStateGuard guard(state);
      work(device);
    };
  }
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::none_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return bool(task); }); });
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace hpcbench::train
