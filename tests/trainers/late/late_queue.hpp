#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trainers/late/late_device.hpp"

namespace hpcbench::train {

inline constexpr int kComputing = 0;  // the stream in which models are computed; side streams count from 1

/// Bytes of a tensor that a collective in progress reads or writes.
class MemoryInUse {
 public:
  explicit MemoryInUse(const at::Tensor& tensor)
      : storage_(tensor.storage().getWeakStorageImpl()),
        offset_(static_cast<std::size_t>(tensor.storage_offset()) * tensor.element_size()),
        bytes_(tensor.nbytes()) {}
  /// Makes every element not a number; as integers -1.
  void spoil() {
    use([&](char* at) { std::memset(at, 0xFF, bytes_); });
  }
  void remember() {
    use([&](const char* at) { seen_.assign(at, at + bytes_); });
  }
  bool is_of(const MemoryInUse& other) const {
    return storage_ == other.storage_ && offset_ == other.offset_ && bytes_ == other.bytes_;
  }
  /// Returns its present fault; empty for none.
  std::string trouble() const {
    const auto storage = storage_.lock();
    if (!storage) return "freed";
    if (storage->nbytes() < offset_ + bytes_) return "given back";
    return std::memcmp(static_cast<const char*>(storage->data()) + offset_, seen_.data(), bytes_) == 0 ? "" : "changed";
  }
  void write(const at::Tensor& values) {
    use([&](char* at) { std::memcpy(at, values.const_data_ptr(), bytes_); });
  }

 private:
  /// `work` with its first byte, unless the memory is gone. It stays until `work` has ended, even if it is freed meanwhile.
  template <class Work>
  void use(const Work& work) const {
    const auto storage = storage_.lock();
    if (storage && storage->nbytes() >= offset_ + bytes_) work(static_cast<char*>(storage->mutable_data()) + offset_);
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
  at::Tensor held;                  // references that the backend itself keeps until then
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
  /// Returns a copy of `tensor` as later work in this stream reads it: a collective that waits there has then written.
  at::Tensor seen_in(int stream, const at::Tensor& tensor);
  /// Joins a collective to one that waits in the same side stream and writes its operands: both run as one, which leaves
  /// `result`. Returns its index; nullopt if none waits.
  std::optional<std::size_t> amend(int stream, const at::Tensor& tensor, const at::Tensor& result);

  /// Waits until it has run.
  void wait_for(std::size_t index);

  /// Calls `work` while no collective runs: memory is not released in the middle of one.
  void between(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    work();
  }

 private:
  void run();

  /// Of the first of each stream.
  std::deque<Collective>::iterator first_due();

  void finish(Collective& collective);

  /// With one output, which is `tensor`; null if none waits.
  Collective* last_that_writes(int stream, const at::Tensor& tensor);

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
