#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hpcbench::train {

/// Memory that all ranks of one host have mapped, and sums and gathers of flat tensors through it. A tensor passes through it
/// in pieces, so that data between the ranks stays in their caches: while one piece is written, the previous one is summed,
/// each rank its chunk of it, and the one before that is read back. Sums are made in the order of the ranks. All ranks call the
/// same functions in the same order, each from one thread. std::runtime_error if a rank has ended (noticed within a tenth of a
/// second, by a lock that the kernel releases for it), does not arrive within the timeout, or does something else.
class SharedMemory {
 public:
  /// Rank 0 creates the memory (`address` empty), the others map it by rank 0's address(). InputError if it is unavailable.
  SharedMemory(int rank, int ranks, std::chrono::milliseconds timeout, const std::string& address = "");
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Returns the address by which another process finds the memory while its creator lives. Nothing of it remains when all have
  /// ended.
  std::string address() const;

  /// Replaces `data` by the sum over the ranks.
  void sum(float* data, std::size_t elements);
  void sum(double* data, std::size_t elements);
  /// Replaces this rank's one of `ranks` equal chunks by the sum over the ranks; the others are unchanged.
  void sum_own_chunk(float* data, std::size_t elements);
  void sum_own_chunk(double* data, std::size_t elements);
  /// Replaces each of `ranks` equal chunks by that of its rank.
  void gather(void* data, std::size_t bytes);

  /// Called from another thread: a thread of this rank that waits ends with an error.
  void stop() { stop_ = true; }

  /// Returns the mapped bytes for this many ranks, without a header.
  static std::size_t staging_bytes(int ranks);

 private:
  struct RankBlock;
  struct Header;
  struct Cut;

  void map(int descriptor, std::size_t size);
  void make_blocks();
  bool begin_task(std::uint64_t kind, std::size_t elements, std::size_t chunk, std::size_t element_bytes);
  void check_task(std::uint64_t task) const;
  template <class T>
  void sum_all(T* data, std::size_t elements);
  template <class T>
  void sum_own(T* data, std::size_t elements);
  template <class T>
  void sum_pieces(T* data, const Cut& cut, bool whole);
  template <class T>
  void add_up(T* data, const Cut& cut, std::size_t piece, bool whole);
  void meet();
  void await(int rank);
  bool has_ended(int rank);
  bool has_come(int rank) const;
  RankBlock& block(int rank) const;
  char* written(int rank, std::size_t piece) const;
  char* added_up(int rank, std::size_t piece) const;

  int rank_;
  int ranks_;
  std::chrono::milliseconds timeout_;
  int descriptor_ = -1;
  Header* header_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t met_ = 0;
  std::uint64_t tasks_ = 0;
  std::uint64_t task_ = 0;  // this rank's current task; 0: all ranks were checked to do the same
  std::atomic<bool> stop_ = false;
};

}  // namespace hpcbench::train
