#include "strategies/exchange.hpp"

#include <thread>

#include "base/error.hpp"
#include "devices/cpu_device.hpp"
#include "strategies/group.hpp"
#include "trainers/ranks.hpp"
#include "trainers/strategies/trial.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

/// The calls of a side stream. On a CPU work is done when enqueue() returns; the test checks that it is awaited.
struct StreamLog {
  int streams = 0;
  int enqueued = 0;
  int held = 0;
};

class LoggedSpan final : public Span {
 public:
  explicit LoggedSpan(StreamLog& log) : log_(log) {}
  void hold_computing() override {
    ++log_.held;
    is_awaited_ = true;
  }
  std::optional<SpanTimes> times() const override {
    return is_awaited_ ? std::optional<SpanTimes>(SpanTimes{2.0, 0.5}) : std::nullopt;
  }

 private:
  StreamLog& log_;
  bool is_awaited_ = false;
};

class LoggedStream final : public SideStream {
 public:
  explicit LoggedStream(StreamLog& log) : log_(log) { ++log_.streams; }
  std::shared_ptr<Span> enqueue(const std::function<void()>& work) override {
    ++log_.enqueued;
    work();
    return std::make_shared<LoggedSpan>(log_);
  }

 private:
  StreamLog& log_;
};

/// The CPU with side streams, like a GPU.
class CpuWithStreams final : public CpuDevice {
 public:
  explicit CpuWithStreams(StreamLog& log) : log_(log) {}
  std::unique_ptr<SideStream> make_stream() const override { return std::make_unique<LoggedStream>(log_); }

 private:
  StreamLog& log_;
};

/// Calls `work` once for each rank, as threads of this process that have met.
void on_ranks(int ranks, const std::function<void(const World& world)>& work) {
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { work({rank, ranks, rank, ranks, "127.0.0.1", port, "here"}); });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Rank r's elements are r + 1, 2 (r + 1), ...: the sum over the ranks of element e is (e + 1) N (N + 1) / 2.
at::Tensor part_of_sum(int rank, std::int64_t size) { return at::arange(1, size + 1, at::kDouble) * (rank + 1); }

/// A device whose backend connects only after some time.
class SlowDevice final : public CpuDevice {
 public:
  explicit SlowDevice(std::chrono::milliseconds pause) : pause_(pause) {}
  void connect(const c10::intrusive_ptr<c10d::ProcessGroup>&, const c10::intrusive_ptr<c10d::Store>&,
               std::chrono::milliseconds) const override {
    std::this_thread::sleep_for(pause_);
  }

 private:
  std::chrono::milliseconds pause_;
};

/// The message of a group that has half a second to connect.
std::string said_when_late(std::chrono::milliseconds pause) {
  const SlowDevice device(pause);
  std::string said;
  Group group(World{}, 0.5, nullptr, device);
  group.when_late([&](const std::string& what) { said = what; });
  group.connect();
  return said;
}

}  // namespace

TEST_CASE("a backend that does not connect within the timeout is noticed") {
  CHECK(said_when_late(std::chrono::milliseconds(1500)) == "NCCL has not connected the ranks after 0.5 s: timed out");
  CHECK(said_when_late(std::chrono::milliseconds(0)).empty());
}

TEST_CASE("reduce-scatter and all-gather by the backend's collectives: known sums and chunks") {
  constexpr std::int64_t kChunk = 3;
  for (const int ranks : {1, 2, 3}) {
    std::vector<at::Tensor> sums(static_cast<std::size_t>(ranks)), wholes(static_cast<std::size_t>(ranks));
    std::vector<StreamLog> logs(static_cast<std::size_t>(ranks));
    std::vector<Traffic> traffics(static_cast<std::size_t>(ranks));
    on_ranks(ranks, [&](const World& world) {
      const auto rank = static_cast<std::size_t>(world.rank);
      const CpuWithStreams device(logs[rank]);
      Group group(
          world, 30, [](const std::string&) {}, device);
      group.connect();
      group.choose_exchange_way(ExchangeWay::collectives);
      Ledger ledger;
      DeviceClock clock(device);
      Exchange exchange(group, traffics[rank], ledger, clock);
      sums[rank] = part_of_sum(world.rank, ranks * kChunk);
      Exchange::Pending sum = exchange.begin_sum(sums[rank], 0);
      exchange.finish_sum(sum, 0.5);
      wholes[rank] = at::zeros({ranks * kChunk}, at::kDouble);
      exchange.own_chunk(wholes[rank]).copy_(exchange.own_chunk(sums[rank]));
      Exchange::Pending gather = exchange.begin_gather(wholes[rank], 1);
      exchange.finish_gather(gather);
      clock.settle_all();
      group.finish();
    });
    const at::Tensor wanted = at::arange(1, ranks * kChunk + 1, at::kDouble) * (0.25 * ranks * (ranks + 1));
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      CAPTURE(ranks);
      CHECK(at::equal(wholes[rank], wanted));
      CHECK(logs[rank].streams == 2);
      CHECK(logs[rank].enqueued == (ranks > 1 ? 2 : 0));
      CHECK(logs[rank].held == logs[rank].enqueued);
      CHECK(traffics[rank].bytes_sent == 2 * (ranks - 1) * kChunk * 8);
      // For both: 2 s, of which 0.5 were waited for.
      CHECK(traffics[rank].exposed_s == (ranks > 1 ? 1.0 : 0.0));
      CHECK(traffics[rank].hidden_s == (ranks > 1 ? 3.0 : 0.0));
    }
  }
}

TEST_CASE("sharded strategies by collectives, as on GPUs: as the baseline") {
  for (const char* strategy : {"zero1", "zero2", "fsdp"}) {
    for (const int ranks : {2, 3}) {
      for (const std::int64_t micro_batches : {1, 2}) {
        CAPTURE(strategy);
        CAPTURE(ranks);
        Trial trial;
        trial.model = "bert";
        trial.steps = 5;
        trial.dropout = true;
        trial.clip = 0.1;
        trial.micro_batches = micro_batches;
        const std::vector<RankResult> reference = run_trial(trial);
        trial.strategy = strategy;
        trial.ranks = ranks;
        trial.collectives = true;
        const std::vector<RankResult> results = run_trial(trial);
        CHECK(worst_gradient(results.front(), reference.front()) <= 1);
        CHECK(worst_state(results.front(), reference.front(), trial) <= 1);
        for (const RankResult& result : results) CHECK(bits_of(result) == bits_of(results.front()));
      }
    }
  }
}

TEST_CASE("two ranks that report the same GPU are refused on every rank") {
  for (const bool shared : {true, false}) {
    std::vector<std::string> texts(3);
    on_ranks(3, [&](const World& world) {
      Group group(world, 30, [](const std::string&) {});
      try {
        group.refuse_shared_gpus(shared && world.rank > 0 ? "GPU-same" : "GPU-" + std::to_string(world.rank));
      } catch (const InputError& error) {
        texts[static_cast<std::size_t>(world.rank)] = error.what();
      }
      group.finish();
    });
    for (const std::string& text : texts) {
      CHECK((text.find("error: ranks 1 and 2 are both on GPU GPU-same of here") == 0) == shared);
      CHECK(text.empty() != shared);
    }
  }
}

}  // namespace hpcbench::train
