#pragma once

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

/// Configures the heap of a program that trains. Only the file with main() includes it.
namespace hpcbench::train {

namespace {

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
char* heap_begin = nullptr;
std::size_t heap_bytes = 0;

/// Makes the system create the heap's pages, one large page at a time.
void* make_pages(void*) {
#ifdef MADV_POPULATE_WRITE  // Linux 5.14; an older kernel refuses it
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  for (std::size_t done = 0; done < heap_bytes; done += kLargePage) {
    if (madvise(heap_begin + done, std::min(kLargePage, heap_bytes - done), MADV_POPULATE_WRITE) != 0) break;
  }
#endif
  return nullptr;
}

/// On a second core, while this one registers LibTorch's operators: on a virtual machine that returned its free memory to its
/// host, a fresh page costs more than the work in it.
void have_pages_made() {
#if __GLIBC_PREREQ(2, 34)  // before, threads were a separate library with its own initialiser
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, make_pages, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
}

/// Puts the heap's first 64 MiB into large pages before LibTorch is initialised: registering its operators fills 40 MiB of it,
/// and the faults of small pages take a sixth of that time. The settings that stay are those that glibc reaches itself once a
/// program has freed a tensor of 32 MiB: smaller ones are cut from the heap, and the heap is not returned at each free().
void use_large_pages_for_heap(int, char**, char**) {
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 128 * kMiB);
  mallopt(M_MXFAST, 0);  // lists that each free() of 64 KiB breaks up; threads have their own
  mallopt(M_TOP_PAD, 64 * kMiB);
  void* const probe = std::malloc(kMiB);
  mallopt(M_TOP_PAD, kMiB / 8);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(probe) + page - 1) / page * page;
  std::free(probe);
  // If malloc did not use the heap, or large pages are unavailable, nothing changes.
  if (!probe || begin >= end || end - begin >= std::uintptr_t{256} * kMiB) return;
  heap_begin = reinterpret_cast<char*>(begin);
  heap_bytes = end / page * page - begin;
  if (madvise(heap_begin, heap_bytes, MADV_HUGEPAGE) == 0) have_pages_made();
}

/// Called before the initialisers of all libraries.
__attribute__((section(".preinit_array"), used)) void (*const kBeforeLibraries)(int, char**, char**) = use_large_pages_for_heap;
#endif

}  // namespace

}  // namespace hpcbench::train
