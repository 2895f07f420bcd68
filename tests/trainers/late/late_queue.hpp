#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trainers/late/late_device.hpp"

namespace hpcbench::train {

inline constexpr int kComputing = 0;  // the stream in which models are computed; side streams count from 1
inline constexpr int kOfReducer = -1;

/// Bytes of a tensor that a collective under way reads or writes.
class MemoryInUse {
 public:
  explicit MemoryInUse(const at::Tensor& tensor)
      : storage_(tensor.storage().getWeakStorageImpl()),
        offset_(static_cast<std::size_t>(tensor.storage_offset()) * tensor.element_size()),
        bytes_(tensor.nbytes()) {}
  /// Nothing in it is a number; as integers -1.
  void spoil() {
    if (char* const at = data()) std::memset(at, 0xFF, bytes_);
  }
  void remember() {
    if (const char* const at = data()) seen_.assign(at, at + bytes_);
  }
  /// What is wrong with it now; empty for nothing.
  std::string trouble() const {
    const auto storage = storage_.lock();
    if (!storage) return "freed";
    if (storage->nbytes() < offset_ + bytes_) return "given back";
    return std::memcmp(static_cast<const char*>(storage->data()) + offset_, seen_.data(), bytes_) == 0 ? "" : "changed";
  }
  void write(const at::Tensor& values) {
    if (char* const at = data()) std::memcpy(at, values.const_data_ptr(), bytes_);
  }

 private:
  char* data() const {
    const auto storage = storage_.lock();
    if (!storage || storage->nbytes() < offset_ + bytes_) return nullptr;
    return static_cast<char*>(storage->mutable_data()) + offset_;
  }
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  std::size_t offset_;
  std::size_t bytes_;
  std::vector<char> seen_;
};

struct Collective {
  std::size_t index = 0;
  int stream = kComputing;
  std::string name;
  std::chrono::steady_clock::time_point due;
  std::vector<MemoryInUse> inputs;
  std::vector<MemoryInUse> outputs;
  std::vector<at::Tensor> results;  // of the outputs, once it has run
  c10::intrusive_ptr<c10::ivalue::Future> future;
  at::Tensor told;  // what the future gives
};

/// The collectives of one rank that have not run yet, and the thread that runs them.
class LateQueue {
 public:
  LateQueue(std::uint64_t seed, Haste haste, std::shared_ptr<LateFindings> findings)
      : haste_(haste), findings_(std::move(findings)), random_(seed), thread_([this] { run(); }) {}
  ~LateQueue();
  LateQueue(const LateQueue&) = delete;
  LateQueue& operator=(const LateQueue&) = delete;

  Haste haste() const { return haste_; }
  LateFindings& findings() { return *findings_; }

  std::size_t add(Collective collective);

  /// Until it has run.
  void wait_for(std::size_t index);

  /// Calls `work` while no collective runs: memory is not given back in the middle of one.
  void between(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    work();
  }

 private:
  void run();

  /// Of the first of each stream.
  std::deque<Collective>::iterator first_due();

  void finish(Collective& collective);

  Haste haste_;
  std::shared_ptr<LateFindings> findings_;
  std::mt19937_64 random_;
  std::mutex mutex_;
  std::condition_variable changed_, done_;
  std::deque<Collective> waiting_;
  std::size_t next_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hpcbench::train
