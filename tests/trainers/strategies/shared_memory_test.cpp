#include "strategies/shared_memory.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

using std::chrono::milliseconds;

/// Calls `work` for each rank in a separate thread, all with the same memory; returns what each threw.
std::vector<std::string> share_memory(int ranks, milliseconds timeout,
                                      const std::function<void(int rank, SharedMemory& memory)>& work) {
  std::vector<std::unique_ptr<SharedMemory>> memories;
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  const auto first = std::make_unique<SharedMemory>(0, ranks, timeout);
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        if (rank == 0) return work(0, *first);
        SharedMemory memory(rank, ranks, timeout, first->address());
        work(rank, memory);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Returns the input of rank `rank`: no two sums of these are equal in another order.
template <class T>
std::vector<T> values_of(int rank, std::size_t elements) {
  std::vector<T> values(elements);
  for (std::size_t index = 0; index < elements; ++index)
    values[index] = static_cast<T>(1.0 / static_cast<double>(3 + index % 1009 + 7 * static_cast<std::size_t>(rank * rank)));
  return values;
}

/// ((v0 + v1) + v2) + ..., as the ranks must compute it.
template <class T>
std::vector<T> sum_in_order(int ranks, std::size_t elements) {
  std::vector<T> sum = values_of<T>(0, elements);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<T> part = values_of<T>(rank, elements);
    for (std::size_t index = 0; index < elements; ++index) sum[index] += part[index];
  }
  return sum;
}

template <class T>
void check_sums(int ranks, std::size_t elements) {
  CAPTURE(ranks);
  CAPTURE(elements);
  const std::vector<T> wanted = sum_in_order<T>(ranks, elements);
  std::vector<char> whole(static_cast<std::size_t>(ranks)), chunks(whole.size());
  const auto errors = share_memory(ranks, milliseconds(20000), [&](int rank, SharedMemory& memory) {
    const auto place = static_cast<std::size_t>(rank);
    std::vector<T> data = values_of<T>(rank, elements);
    memory.sum(data.data(), elements);
    whole[place] = data == wanted;
    // The chunks of equal size at the beginning: summed one by one, then joined.
    const std::size_t chunk = elements / static_cast<std::size_t>(ranks);
    data = values_of<T>(rank, elements);
    memory.sum_own_chunk(data.data(), chunk * static_cast<std::size_t>(ranks));
    std::vector<T> expected = values_of<T>(rank, elements);
    std::copy_n(wanted.begin() + static_cast<std::ptrdiff_t>(place * chunk), chunk,
                expected.begin() + static_cast<std::ptrdiff_t>(place * chunk));
    bool well = data == expected;
    memory.gather(data.data(), chunk * static_cast<std::size_t>(ranks) * sizeof(T));
    std::copy_n(wanted.begin(), chunk * static_cast<std::size_t>(ranks), expected.begin());
    chunks[place] = well && data == expected;
  });
  for (std::size_t rank = 0; rank < whole.size(); ++rank) {
    CHECK(errors[rank] == "");
    CHECK(int{whole[rank]} == 1);
    CHECK(int{chunks[rank]} == 1);
  }
}

}  // namespace

TEST_CASE("shared memory: sums in the order of the ranks, chunks and gathers, whatever the size") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::size_t elements : {1UL, 7UL, 16UL, 1000UL, 262145UL, 1500007UL}) check_sums<float>(ranks, elements);
    for (const std::size_t elements : {5UL, 400003UL}) check_sums<double>(ranks, elements);
  }
}

TEST_CASE("shared memory: a rank that does not come, one that goes, and one that does something else") {
  const auto begin = [](SharedMemory& memory, std::size_t elements) {
    std::vector<float> data(elements, 1);
    memory.sum(data.data(), elements);
  };
  const auto late = share_memory(2, milliseconds(1500), [&](int rank, SharedMemory& memory) {
    if (rank == 1) begin(memory, 100);
    // Rank 0, whose memory outlives its thread, never arrives.
  });
  CHECK(late[1] == "Timed out waiting 1500ms for rank 0 (shared memory)");
  const auto gone = share_memory(2, milliseconds(60000), [&](int rank, SharedMemory& memory) {
    if (rank == 0) begin(memory, 100);
  });
  CHECK(gone[0] == "Connection through shared memory: rank 1 has ended");
  const auto other =
      share_memory(2, milliseconds(60000), [&](int rank, SharedMemory& memory) { begin(memory, rank ? 99 : 100); });
  CHECK(other[0].find("rank 1 exchanges another tensor than rank 0") == 0);
}

TEST_CASE("shared memory: a process that ends without a word is noticed, and leaves nothing behind") {
  SharedMemory memory(0, 2, milliseconds(60000));
  const std::string address = memory.address();
  const pid_t other = fork();
  if (other == 0) {
    SharedMemory mapped(1, 2, milliseconds(60000), address);
    float one = 1;
    mapped.sum(&one, 1);
    _exit(0);  // no destructor: as if killed
  }
  float two = 2;
  memory.sum(&two, 1);
  CHECK(two == 3.0F);
  CHECK_THROWS_WITH(memory.sum(&two, 1), "Connection through shared memory: rank 1 has ended");
  int status = 0;
  CHECK(waitpid(other, &status, 0) == other);
}

TEST_CASE("unavailable shared memory is refused with an alternative") {
  const SharedMemory memory(0, 2, milliseconds(1000));
  const std::string wrong = memory.address() + "0";  // another token
  CHECK_THROWS_AS(SharedMemory(1, 2, milliseconds(1000), wrong), InputError);
  CHECK_THROWS_AS(SharedMemory(1, 2, milliseconds(1000), "/proc/self/fd/9999 1"), InputError);
  CHECK_THROWS_AS(SharedMemory(1, 2, milliseconds(1000), "/dev/null 1"), InputError);  // another size
  CHECK_THROWS_AS(SharedMemory(0, 1000, milliseconds(1000)), InputError);
  World world;
  for (const char* const strategy : {"baseline", "dp"}) {
    Settings settings;
    settings.strategy = strategy;
    settings.exchange = ExchangeChoice::shared_memory;
    CHECK_THROWS_AS(check_settings(settings, world), InputError);
  }
}

TEST_CASE("every strategy through shared memory: as through Gloo, bit for bit where the order of sums is the same") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(strategy);
      CAPTURE(ranks);
      Trial trial;
      trial.model = "bert";
      trial.steps = 6;
      trial.dropout = true;
      trial.clip = 0.1;
      trial.micro_batches = 2;
      trial.optimizer = OptimizerKind::adamw;
      const RankResult reference = run_trial(trial).front();
      trial.strategy = strategy;
      trial.ranks = ranks;
      const std::vector<RankResult> by_gloo = run_trial(trial);
      trial.shared_memory = true;
      const std::vector<RankResult> results = run_trial(trial);
      CHECK(worst_gradient(results.front(), reference) <= 1);
      CHECK(worst_state(results.front(), reference, trial) <= 1);
      for (const RankResult& result : results) CHECK(bits_of(result) == bits_of(results.front()));
      // Gloo's ring of three sums in its own order.
      if (ranks <= 2 || std::string(strategy) != "ddp") CHECK(bits_of(results.front()) == bits_of(by_gloo.front()));
      CHECK(results.front().statistics.traffic.bytes_sent == by_gloo.front().statistics.traffic.bytes_sent);
      CHECK(results.front().statistics.overlapped_steps == by_gloo.front().statistics.overlapped_steps);
    }
  }
}

}  // namespace hpcbench::train
