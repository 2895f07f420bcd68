#include "strategies/shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr int kMostRanks = 256;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // of a tensor, by each rank: two of them fit into a core's cache
constexpr std::size_t kLineElements = 16;                  // chunks of pieces begin at cache lines
constexpr std::size_t kBlock = 1024;                       // elements that are added at a time
constexpr int kSpins = 1000;                               // before a waiting rank sleeps: some tens of microseconds
// State of a rank; memory begins with zeros. Another rank writes kGone when it has seen the end of this one.
constexpr std::uint32_t kThere = 1;
constexpr std::uint32_t kGone = 2;
constexpr long kLookInterval_ns = 100'000'000;

/// futex(2); the words are in memory that processes share.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  const timespec interval{0, kLookInterval_ns};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &interval, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

/// Tells the core that this thread only waits.
void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

[[noreturn]] void refuse_memory(const std::string& what) {
  throw InputError(concat("error: exchange shared_memory: ", what, ": ", std::strerror(errno), ". Choose `exchange: gloo`"));
}

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

/// A rank's part of the header, on its own cache lines.
struct alignas(128) SharedMemory::RankBlock {
  std::atomic<std::uint32_t> met;    // number of meetings that it has reached
  std::atomic<std::uint32_t> state;  // 0: not started; kThere, kGone
  std::atomic<std::uint64_t> task;
  pthread_mutex_t alive;  // held by the rank while it lives; robust: the kernel reports that the owner died
};

struct SharedMemory::Header {
  std::uint64_t token;  // identifies the memory
  RankBlock blocks[kMostRanks];
};

/// How a tensor is cut: into a chunk for each rank, and each chunk into pieces.
struct SharedMemory::Cut {
  std::size_t elements;
  std::size_t chunk;
  std::size_t piece;  // elements of a chunk

  std::size_t pieces() const { return (chunk + piece - 1) / piece; }
  std::size_t begin(std::size_t number, int rank) const {
    return std::min(elements, static_cast<std::size_t>(rank) * chunk + std::min(chunk, number * piece));
  }
  std::size_t size(std::size_t number, int rank) const { return begin(number + 1, rank) - begin(number, rank); }
};

std::size_t SharedMemory::staging_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return 2 * count * (kPieceBytes + round_up(kPieceBytes / count, 64));
}

SharedMemory::SharedMemory(int rank, int ranks, std::chrono::milliseconds timeout, const std::string& address)
    : rank_(rank), ranks_(ranks), timeout_(timeout) {
  if (ranks > kMostRanks)
    throw InputError(concat("error: exchange shared_memory is for at most ", kMostRanks, " ranks: choose `exchange: gloo`"));
  const std::size_t size = round_up(sizeof(Header), 4096) + staging_bytes(ranks);
  if (address.empty()) {
    descriptor_ = memfd_create("hpcbench-exchange", MFD_CLOEXEC);
    if (descriptor_ < 0) refuse_memory("cannot make memory to share");
    // A lack of memory is refused here; at a later access it would be a signal.
    errno = ftruncate(descriptor_, static_cast<off_t>(size)) != 0 ? errno
                                                                  : posix_fallocate(descriptor_, 0, static_cast<off_t>(size));
    if (errno != 0) refuse_memory(concat("cannot make ", size, " bytes of memory to share"));
    map(descriptor_, size);
    make_blocks();
  } else {
    std::istringstream words(address);
    std::string path;
    std::uint64_t token = 0;
    words >> path >> token;
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) refuse_memory(concat("rank ", rank, " cannot open the memory of rank 0 (", path, ")"));
    // Another process's file of that number may be anything: reading beyond its end would be a signal.
    struct stat found {};
    const bool fits = fstat(descriptor, &found) == 0 && found.st_size == static_cast<off_t>(size);
    if (fits) map(descriptor, size);
    close(descriptor);
    if (!fits || header_->token != token) {
      errno = ESTALE;
      refuse_memory(concat("rank ", rank, " finds other memory than that of rank 0 at ", path));
    }
  }
  pthread_mutex_lock(&block(rank_).alive);
  block(rank_).state.store(kThere);
}

SharedMemory::~SharedMemory() {
  pthread_mutex_unlock(&block(rank_).alive);
  munmap(header_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedMemory::map(int descriptor, std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) refuse_memory(concat("rank ", rank_, " cannot map ", size, " bytes"));
  header_ = static_cast<Header*>(memory);
  size_ = size;
}

void SharedMemory::make_blocks() {
  header_->token = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (int rank = 0; rank < ranks_; ++rank) pthread_mutex_init(&block(rank).alive, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

std::string SharedMemory::address() const { return concat("/proc/", getpid(), "/fd/", descriptor_, " ", header_->token); }

SharedMemory::RankBlock& SharedMemory::block(int rank) const { return header_->blocks[rank]; }

char* SharedMemory::written(int rank, std::size_t piece) const {
  const std::size_t place = static_cast<std::size_t>(rank) * 2 + piece % 2;
  return reinterpret_cast<char*>(header_) + round_up(sizeof(Header), 4096) + place * kPieceBytes;
}

char* SharedMemory::added_up(int rank, std::size_t piece) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::size_t place = static_cast<std::size_t>(rank) * 2 + piece % 2;
  return written(ranks_, 0) + place * round_up(kPieceBytes / ranks, 64);
}

/// Returns false if there is nothing to exchange. Every exchange takes at least two meetings, so no rank can have begun the
/// next task while another one checks this one.
bool SharedMemory::begin_task(std::uint64_t kind, std::size_t elements, std::size_t chunk, std::size_t element_bytes) {
  if (chunk == 0) return false;
  task_ = ((++tasks_ * 4 + kind) << 40) ^ (std::uint64_t{elements} * 16 + element_bytes);
  block(rank_).task.store(task_, std::memory_order_relaxed);
  return true;
}

/// Called after the first meeting of a task.
void SharedMemory::check_task(std::uint64_t task) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (block(rank).task.load(std::memory_order_relaxed) != task)
      throw std::runtime_error(concat("rank ", rank, " exchanges another tensor than rank ", rank_, " (shared memory)"));
  }
}

bool SharedMemory::has_come(int rank) const {
  const std::uint32_t ahead = block(rank).met.load(std::memory_order_acquire) - met_;
  return static_cast<std::int32_t>(ahead) >= 0;
}

bool SharedMemory::has_ended(int rank) {
  RankBlock& other = block(rank);
  const std::uint32_t state = other.state.load();
  if (state != kThere) return state == kGone;
  const int status = pthread_mutex_trylock(&other.alive);
  if (status == EBUSY) return false;
  other.state.store(kGone);
  if (status == 0 || status == EOWNERDEAD) pthread_mutex_unlock(&other.alive);
  return true;
}

void SharedMemory::meet() {
  ++met_;
  RankBlock& own = block(rank_);
  own.met.store(met_, std::memory_order_release);
  futex_wake(own.met);
  for (int rank = 0; rank < ranks_; ++rank) await(rank);
  if (task_ != 0) check_task(std::exchange(task_, 0));
}

void SharedMemory::await(int rank) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (has_come(rank)) return;
    pause_core();
  }
  const auto end = std::chrono::steady_clock::now() + timeout_;
  for (;;) {
    const std::uint32_t seen = block(rank).met.load(std::memory_order_acquire);
    if (has_come(rank)) return;
    futex_wait(block(rank).met, seen);
    // A rank that arrived may have ended since: check that first.
    const bool ended = has_ended(rank);
    if (has_come(rank)) return;
    if (stop_) throw std::runtime_error("the exchange through shared memory was stopped");
    if (ended) throw std::runtime_error(concat("Connection through shared memory: rank ", rank, " has ended"));
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error(concat("Timed out waiting ", timeout_.count(), "ms for rank ", rank, " (shared memory)"));
  }
}

/// Sums this rank's chunk of a piece over what all ranks have written.
template <class T>
void SharedMemory::add_up(T* data, const Cut& cut, std::size_t piece, bool whole) {
  const std::size_t begin = cut.begin(piece, rank_);
  const std::size_t size = cut.size(piece, rank_);
  const auto part_of = [&](int rank) -> const T* {
    if (rank == rank_) return data + begin;
    return reinterpret_cast<const T*>(written(rank, piece)) + static_cast<std::size_t>(rank_) * cut.piece;
  };
  T* const kept = reinterpret_cast<T*>(added_up(rank_, piece));
  alignas(64) T sums[kBlock];
  for (std::size_t at = 0; at < size; at += kBlock) {
    const std::size_t count = std::min(kBlock, size - at);
    std::memcpy(sums, part_of(0) + at, count * sizeof(T));
    for (int rank = 1; rank < ranks_; ++rank) {
      const T* const part = part_of(rank) + at;
      for (std::size_t index = 0; index < count; ++index) sums[index] += part[index];
    }
    std::memcpy(data + begin + at, sums, count * sizeof(T));
    if (whole) std::memcpy(kept + at, sums, count * sizeof(T));
  }
}

template <class T>
void SharedMemory::sum_pieces(T* data, const Cut& cut, bool whole) {
  const std::size_t pieces = cut.pieces();
  const std::size_t stages = pieces + (whole ? 2 : 1);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    for (int rank = 0; rank < ranks_ && stage < pieces; ++rank) {
      T* const place = reinterpret_cast<T*>(written(rank_, stage)) + static_cast<std::size_t>(rank) * cut.piece;
      if (rank != rank_) std::memcpy(place, data + cut.begin(stage, rank), cut.size(stage, rank) * sizeof(T));
    }
    if (stage >= 1 && stage - 1 < pieces) add_up(data, cut, stage - 1, whole);
    for (int rank = 0; rank < ranks_ && stage >= 2 && whole; ++rank) {
      const std::size_t piece = stage - 2;
      if (rank != rank_) std::memcpy(data + cut.begin(piece, rank), added_up(rank, piece), cut.size(piece, rank) * sizeof(T));
    }
    meet();
  }
}

namespace {

/// Returns the number of elements in a rank's chunk of a piece.
template <class T>
std::size_t piece_of_chunk(int ranks) {
  return kPieceBytes / sizeof(T) / static_cast<std::size_t>(ranks) / kLineElements * kLineElements;
}

}  // namespace

void SharedMemory::sum(float* data, std::size_t elements) { sum_all(data, elements); }
void SharedMemory::sum(double* data, std::size_t elements) { sum_all(data, elements); }
void SharedMemory::sum_own_chunk(float* data, std::size_t elements) { sum_own(data, elements); }
void SharedMemory::sum_own_chunk(double* data, std::size_t elements) { sum_own(data, elements); }

template <class T>
void SharedMemory::sum_all(T* data, std::size_t elements) {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::size_t chunk = round_up((elements + ranks - 1) / ranks, kLineElements);
  if (!begin_task(0, elements, chunk, sizeof(T))) return;
  sum_pieces(data, {elements, chunk, piece_of_chunk<T>(ranks_)}, true);
}

template <class T>
void SharedMemory::sum_own(T* data, std::size_t elements) {
  const std::size_t chunk = elements / static_cast<std::size_t>(ranks_);
  if (!begin_task(1, elements, chunk, sizeof(T))) return;
  sum_pieces(data, {elements, chunk, piece_of_chunk<T>(ranks_)}, false);
}

void SharedMemory::gather(void* data, std::size_t bytes) {
  const Cut cut{bytes, bytes / static_cast<std::size_t>(ranks_), kPieceBytes};
  if (!begin_task(2, bytes, cut.chunk, 1)) return;
  char* const bytes_of_data = static_cast<char*>(data);
  for (std::size_t stage = 0; stage <= cut.pieces(); ++stage) {
    if (stage < cut.pieces())
      std::memcpy(written(rank_, stage), bytes_of_data + cut.begin(stage, rank_), cut.size(stage, rank_));
    for (int rank = 0; rank < ranks_ && stage >= 1; ++rank) {
      const std::size_t piece = stage - 1;
      if (rank != rank_) std::memcpy(bytes_of_data + cut.begin(piece, rank), written(rank, piece), cut.size(piece, rank));
    }
    meet();
  }
}

}  // namespace hpcbench::train
