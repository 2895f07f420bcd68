#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hpcbench::train {

/// Writes zeros to fresh memory of zeros with all threads, so that the system creates its pages: on a virtual machine that must
/// request them from its host, this takes longer than the later work in them. Threads that fill a tensor do not share this work
/// well: two that first write to one large page both create it, and one page is discarded.
inline void touch_in_parallel(char* begin, std::size_t size_bytes) {
  constexpr std::size_t kSmallPage = 4096;
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  const std::size_t before = reinterpret_cast<std::uintptr_t>(begin) % kLargePage;  // of the first large page
  const std::size_t pages = (before + size_bytes + kLargePage - 1) / kLargePage;
  std::atomic<std::size_t> next = 0;  // one by one: a page that the host must provide takes ten times as long as another
  const auto touch = [&](std::int64_t, std::int64_t) {
    for (std::size_t page = next++; page < pages; page = next++) {
      const std::size_t from = page == 0 ? 0 : page * kLargePage - before;
      const std::size_t to = std::min((page + 1) * kLargePage - before, size_bytes);
      // A small page at a time, in case large ones are unavailable.
      for (std::size_t at = from; at < to; at += kSmallPage) static_cast<volatile char*>(begin)[at] = 0;
    }
  };
  at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), static_cast<std::int64_t>(pages)), 1, touch);
}

}  // namespace hpcbench::train
