#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "bert_testing.hpp"
#include "tasks/bert_squad/bert_buffers.hpp"

namespace hpcbench::train {

namespace {

std::vector<std::pair<char*, std::size_t>> touched_parts;

void note_touch(char* begin, std::size_t size_bytes) { touched_parts.push_back({begin, size_bytes}); }

/// Returns whether all of it, and nothing behind it, was noted.
bool is_touched(const char* begin, std::size_t size_bytes) {
  for (const auto& [from, bytes] : touched_parts) {
    if (begin >= from && begin < from + bytes) {
      if (begin + size_bytes <= from + bytes) return true;
      return is_touched(from + bytes, size_bytes - static_cast<std::size_t>(from + bytes - begin));
    }
  }
  return false;
}

/// -1: not mapped.
std::int64_t pages_there(void* address, std::size_t size_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) / page * page;
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(address) + size_bytes - begin;
  std::vector<unsigned char> there((bytes + page - 1) / page);
  if (mincore(reinterpret_cast<void*>(begin), bytes, there.data()) != 0) return -1;
  std::int64_t count = 0;
  for (const unsigned char flags : there) count += flags & 1;
  return count;
}

}  // namespace

TEST_CASE("an arena touches all that it hands out, once, and nothing outside of its regions") {
  touched_parts.clear();
  kernels::PageArena arena(note_touch);
  std::vector<std::shared_ptr<void>> parts;
  std::set<char*> ends;
  for (const std::size_t size : {1000UL, 7UL << 20, 3UL << 20, 64UL, 20UL << 20, 40UL << 20, 1UL, 9UL << 20}) {
    parts.push_back(arena.take(size));
    char* const begin = static_cast<char*>(parts.back().get());
    CHECK(reinterpret_cast<std::uintptr_t>(begin) % 64 == 0);
    CHECK(is_touched(begin, size));
    std::memset(begin, 7, size);  // inside the mapping
    for (char* const end : ends) CHECK((end <= begin || end > begin + size));
    ends.insert(begin + size);
  }
  for (std::size_t index = 0; index + 1 < touched_parts.size(); ++index) {
    for (std::size_t other = index + 1; other < touched_parts.size(); ++other) {
      const auto [a, a_bytes] = touched_parts[index];
      const auto [b, b_bytes] = touched_parts[other];
      CHECK((a + a_bytes <= b || b + b_bytes <= a));
    }
  }
}

TEST_CASE("touching makes every page of a range that begins and ends anywhere, and leaves zeros") {
  for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{5000}, (std::size_t{9} << 20) + 12345}) {
    const std::size_t mapped = size_bytes + 3 * 4096;
    const std::shared_ptr<void> pages = kernels::zero_pages(mapped, kernels::Pages::small);
    char* const begin = static_cast<char*>(pages.get()) + 4096 + 77;
    REQUIRE(pages_there(pages.get(), mapped) == 0);
    touch_in_parallel(begin, size_bytes);
    // One write a small page from `begin` on: the last page is made where such a write falls into it.
    CHECK(pages_there(begin, size_bytes) >= static_cast<std::int64_t>((size_bytes + 4095) / 4096));
    CHECK(std::all_of(begin, begin + size_bytes, [](char byte) { return byte == 0; }));
  }
}

TEST_CASE("buffers are reused when no tensor holds them, and a pass over more rows releases them") {
  BertBuffers buffers;
  constexpr std::int64_t kLarge = std::int64_t{10} << 20;
  buffers.begin_pass(100);
  at::Tensor held = buffers.take({kLarge}, at::kFloat);
  held.fill_(3.0F);
  at::Tensor free = buffers.take({kLarge}, at::kFloat);
  void* const address = free.data_ptr();
  CHECK(address != held.data_ptr());
  free.reset();
  buffers.begin_pass(100);
  CHECK(buffers.take({kLarge}, at::kFloat).data_ptr() == address);
  buffers.begin_pass(60);
  CHECK(buffers.take({kLarge - 1000}, at::kFloat).data_ptr() == address);
  CHECK(pages_there(address, 4096) == 1);
  buffers.begin_pass(101);
  CHECK(pages_there(address, 4096) == -1);
  CHECK(held.sum().item<float>() == 3.0F * kLarge);
}

}  // namespace hpcbench::train
