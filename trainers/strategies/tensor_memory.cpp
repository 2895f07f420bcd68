#include "strategies/tensor_memory.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace hpcbench::train {

namespace {

std::atomic<std::int64_t> live = 0;
std::atomic<std::int64_t> named = 0;
std::atomic<std::int64_t> peak_unnamed = 0;

void raise_peak(std::int64_t bytes) {
  std::int64_t before = peak_unnamed.load(std::memory_order_relaxed);
  while (bytes > before && !peak_unnamed.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

/// The sizes of live allocations, by address. In stripes, so that threads rarely contend.
class AllocationSizes {
 public:
  void put(const void* pointer, std::size_t bytes) {
    Stripe& stripe = stripe_of(pointer);
    const std::lock_guard lock(stripe.mutex);
    stripe.sizes[pointer] = bytes;
  }
  std::size_t take(const void* pointer) {
    Stripe& stripe = stripe_of(pointer);
    const std::lock_guard lock(stripe.mutex);
    const auto found = stripe.sizes.extract(pointer);
    return found ? found.mapped() : 0;
  }
  /// Never destroyed: static tensors are released after main().
  static AllocationSizes& of_process() {
    static AllocationSizes& sizes = *new AllocationSizes;
    return sizes;
  }

 private:
  struct Stripe {
    std::mutex mutex;
    std::unordered_map<const void*, std::size_t> sizes;
  };
  Stripe& stripe_of(const void* pointer) {
    constexpr std::uintptr_t kAlignment = 64;  // of LibTorch's allocations
    return stripes_[reinterpret_cast<std::uintptr_t>(pointer) / kAlignment % stripes_.size()];
  }
  std::array<Stripe, 16> stripes_;
};

/// LibTorch's own CPU allocator, counted.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr data = c10::GetDefaultCPUAllocator()->allocate(bytes);
    void* const pointer = data.get();
    if (!pointer || data.get_context() != pointer) return data;
    data.release_context();
    AllocationSizes::of_process().put(pointer, bytes);
    const auto size = static_cast<std::int64_t>(bytes);
    raise_peak(live.fetch_add(size, std::memory_order_relaxed) + size - named.load(std::memory_order_relaxed));
    return {pointer, pointer, &release, data.device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void release(void* pointer) {
    if (!pointer) return;
    live.fetch_sub(static_cast<std::int64_t>(AllocationSizes::of_process().take(pointer)), std::memory_order_relaxed);
    c10::GetDefaultCPUAllocator()->raw_deleter()(pointer);
  }
};

/// Before main(), as LibTorch requires: no other thread allocates meanwhile.
const bool kCounting = [] {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
  return true;
}();

}  // namespace

std::int64_t TensorMemory::live_bytes() { return kCounting ? live.load() : 0; }

void TensorMemory::name_bytes(std::int64_t bytes) { named.fetch_add(bytes, std::memory_order_relaxed); }

std::int64_t TensorMemory::unnamed_bytes() { return live.load() - named.load(); }

void TensorMemory::forget_peak() { peak_unnamed = unnamed_bytes(); }

std::int64_t TensorMemory::peak_unnamed_bytes() { return peak_unnamed.load(); }

}  // namespace hpcbench::train
