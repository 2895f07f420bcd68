#pragma once

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

/// How a program that trains uses its heap. Included by the file of main() alone.
namespace hpcbench::train {

namespace {

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// The heap's first 64 MiB in large pages, from before LibTorch is initialised: registering its operators fills 40 MiB of it,
/// and the faults of small pages are a sixth of that time. What stays set is what glibc comes to by itself once a program has
/// freed a tensor of 32 MiB: smaller ones are cut from the heap, and it is not given back at each free().
void use_large_pages_for_heap(int, char**, char**) {
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 128 * kMiB);
  mallopt(M_TOP_PAD, 64 * kMiB);
  void* const probe = std::malloc(kMiB);
  mallopt(M_TOP_PAD, kMiB / 8);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(probe) + page - 1) / page * page;
  // Where malloc did not take it from the heap, or large pages are not to be had, all stays as it is.
  if (probe && begin < end && end - begin < std::uintptr_t{256} * kMiB)
    madvise(reinterpret_cast<void*>(begin), end / page * page - begin, MADV_HUGEPAGE);
  std::free(probe);
}

/// Called before the initialisers of all libraries.
__attribute__((section(".preinit_array"), used)) void (*const kBeforeLibraries)(int, char**, char**) = use_large_pages_for_heap;
#endif

}  // namespace

}  // namespace hpcbench::train
