#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace hpcbench::train::kernels {

/// The page size of memory. Small pages take memory one by one, for tables of which few rows are ever touched. Large pages are
/// requested for memory that is written completely: the faults of small pages cost more than a fifth of a short run.
enum class Pages { small, large };

/// Returns zeros straight from the system: a page takes memory, and time, only once it is written. std::bad_alloc if there is
/// no memory.
inline std::shared_ptr<void> zero_pages(std::size_t size_bytes, Pages pages) {
  const std::size_t mapped = size_bytes > 0 ? size_bytes : 1;
  void* const address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (pages == Pages::large) ::madvise(address, mapped, MADV_HUGEPAGE);  // if it fails, pages are small
#endif
  return {address, [mapped](void* begin) { ::munmap(begin, mapped); }};
}

/// Cuts memory of large pages into parts. A region is released when all its parts are gone.
class PageArena {
 public:
  /// Writes to each page of fresh memory, so that the system creates them.
  using Prefault = void (*)(char* begin, std::size_t size_bytes);

  /// Without `prefault` the system creates pages at the first write to them.
  explicit PageArena(Prefault prefault = nullptr) : prefault_(prefault) {}

  std::shared_ptr<void> take(std::size_t size_bytes) {
    constexpr std::size_t kRegionBytes = std::size_t{32} << 20;
    constexpr std::size_t kAlignment = 64;
    constexpr std::size_t kGap = 17 * kAlignment;  // parts of a power of two would compete for the same lines of the caches
    const std::size_t size = (size_bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
    if (size > left_bytes_) {
      const std::size_t region_bytes = size > kRegionBytes ? size : kRegionBytes;
      region_ = zero_pages(region_bytes, Pages::large);
      next_ = static_cast<char*>(region_.get());
      left_bytes_ = region_bytes;
      touched_bytes_ = 0;
    }
    char* const part = next_;
    next_ += size;
    left_bytes_ -= size;
    if (prefault_) {
      if (size > touched_bytes_) touch_at_least(part + touched_bytes_, size - touched_bytes_);
      touched_bytes_ -= size;
    }
    return {region_, part};
  }

 private:
  /// Touches more than is needed now, so that several threads have some pages each.
  void touch_at_least(char* begin, std::size_t size_bytes) {
    constexpr std::size_t kTouchBytes = std::size_t{8} << 20;
    const auto left = static_cast<std::size_t>(next_ - begin) + left_bytes_;
    const std::size_t bytes = std::min(left, (size_bytes + kTouchBytes - 1) / kTouchBytes * kTouchBytes);
    prefault_(begin, bytes);
    touched_bytes_ += bytes;
  }

  Prefault prefault_;
  std::shared_ptr<void> region_;
  char* next_ = nullptr;
  std::size_t left_bytes_ = 0;
  std::size_t touched_bytes_ = 0;  // of that memory, from `next_` on
};

}  // namespace hpcbench::train::kernels
