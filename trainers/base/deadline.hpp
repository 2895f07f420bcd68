#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hpcbench::train {

/// Calls `late` once, in its own thread, when the object has lived for `limit`: for blocking calls without a time limit.
class Deadline {
 public:
  Deadline(std::chrono::milliseconds limit, std::function<void()> late)
      : thread_([this, limit, late = std::move(late)] {
          std::unique_lock lock(mutex_);
          if (!met_signal_.wait_for(lock, limit, [this] { return met_; })) late();
        }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      met_ = true;
    }
    met_signal_.notify_all();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable met_signal_;
  bool met_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace hpcbench::train
