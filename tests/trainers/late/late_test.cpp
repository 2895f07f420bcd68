// Strategies on a device whose collectives run late (late_device.hpp): the same bits as on one where they run at once, and
// timing faults are found. HPCBENCH_LATE_SEEDS is the number of seeds for each training.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "strategies/group.hpp"
#include "trainers/late/late_device.hpp"
#include "trainers/ranks.hpp"
#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

int seeds() {
  const char* const said = std::getenv("HPCBENCH_LATE_SEEDS");
  return said ? std::atoi(said) : 1;
}

struct LateRun {
  std::vector<RankResult> results;
  std::vector<std::string> findings;
};

LateRun run_late(Trial trial, std::uint64_t seed, Haste haste) {
  const auto findings = std::make_shared<LateFindings>();
  std::vector<std::unique_ptr<LateDevice>> devices;
  for (int rank = 0; rank < trial.ranks; ++rank) {
    devices.push_back(std::make_unique<LateDevice>(seed * 100 + static_cast<std::uint64_t>(rank), haste, findings));
    trial.devices.push_back(devices.back().get());
  }
  LateRun run{run_trial(trial, /*may_fail=*/true), {}};
  devices.clear();  // work that has not run yet runs now
  run.findings = findings->all();
  for (const RankResult& result : run.results) {
    if (!result.error.empty()) run.findings.push_back(result.error);
  }
  return run;
}

Trial trial_of(const std::string& strategy, int ranks) {
  Trial trial;
  trial.strategy = strategy;
  trial.ranks = ranks;
  trial.model = "chain";
  trial.steps = 3;
  trial.clip = 1;
  trial.collectives = true;
  return trial;
}

/// Returns every strategy at 1 to 4 ranks, with and without accumulation.
std::vector<Trial> late_trials(Precision precision) {
  std::vector<Trial> trials;
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const std::int64_t micro_batches : {1, 3}) {
        Trial& trial = trials.emplace_back(trial_of(strategy, ranks));
        trial.single = precision != Precision::fp64;
        trial.bf16 = precision == Precision::bf16;
        trial.micro_batches = micro_batches;
      }
    }
  }
  return trials;
}

/// Returns a first step, and further steps from its result.
std::vector<LateRun> run_late_in_two(Trial trial, std::uint64_t seed) {
  const std::int64_t steps = trial.steps;
  trial.steps = 1;
  std::vector<LateRun> parts;
  parts.push_back(run_late(trial, seed, Haste::none));
  if (!parts.front().findings.empty()) return parts;
  trial.steps = steps;
  trial.from = parts.front().results.front().kept;
  parts.push_back(run_late(trial, seed + 1'000'000, Haste::none));
  return parts;
}

bool same_bits(const std::vector<RankResult>& some, const std::vector<RankResult>& others) {
  for (std::size_t rank = 0; rank < some.size(); ++rank) {
    if (bits_of(some[rank]) != bits_of(others[rank]) || some[rank].losses != others[rank].losses) return false;
  }
  return true;
}

void check_late_trial(const Trial& trial, const std::vector<RankResult>& prompt, std::uint64_t seed) {
  CAPTURE(trial.strategy);
  CAPTURE(trial.ranks);
  CAPTURE(trial.micro_batches);
  CAPTURE(seed);
  const LateRun late = run_late(trial, seed, Haste::none);
  for (const std::string& finding : late.findings) FAIL_CHECK(finding);
  CHECK(same_bits(late.results, prompt));
  const std::vector<LateRun> parts = run_late_in_two(trial, seed);
  for (const LateRun& part : parts) {
    for (const std::string& finding : part.findings) FAIL_CHECK(finding);
  }
  const bool as_straight = bits_of(parts.back().results.front()) == bits_of(prompt.front());
  CHECK(as_straight);
}

/// Runs all trainings of a precision, with one seed after the other.
void check_late_trials(const char* precision_name, Precision precision) {
  CAPTURE(precision_name);
  const std::vector<Trial> trials = late_trials(precision);
  std::vector<std::vector<RankResult>> prompt;
  for (const Trial& trial : trials) prompt.push_back(run_trial(trial));
  for (int seed = 0; seed < seeds(); ++seed) {
    for (std::size_t index = 0; index < trials.size(); ++index)
      check_late_trial(trials[index], prompt[index], static_cast<std::uint64_t>(seed));
    if ((seed + 1) % 10 == 0 || seed + 1 == seeds()) {
      std::printf("late: %zu trainings in %s tried with %d seeds\n", trials.size(), precision_name, seed + 1);
      std::fflush(stdout);  // shows the progress if the user ends the long form early
    }
  }
}

/// A device that counts waits for it.
class WaitedDevice final : public CpuDevice {
 public:
  void synchronise() const override { ++waits; }
  mutable std::atomic<int> waits = 0;
};

constexpr int kSignalStep = 3;

/// Returns the step before which each rank, one for each device, learns that the last one received a signal in kSignalStep.
std::vector<int> steps_of_signal(const std::vector<const Device*>& devices) {
  const int ranks = static_cast<int>(devices.size());
  const int port = free_port();
  std::vector<int> heard(devices.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const World world{rank, ranks, rank, ranks, "127.0.0.1", port, "here"};
      const auto index = static_cast<std::size_t>(rank);
      Group group(
          world, 30, [](const std::string&) {}, *devices[index]);
      group.connect();
      for (int step = 1; step <= 2 * kSignalStep && heard[index] == 0; ++step) {
        if (group.any_rank(rank == ranks - 1 && step >= kSignalStep)) heard[index] = step;
      }
      group.finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

std::vector<int> hear_of_signal(int ranks, std::uint64_t seed, Haste haste) {
  const auto findings = std::make_shared<LateFindings>();
  std::vector<std::unique_ptr<LateDevice>> devices;
  std::vector<const Device*> all;
  for (int rank = 0; rank < ranks; ++rank) {
    devices.push_back(std::make_unique<LateDevice>(seed * 100 + static_cast<std::uint64_t>(rank), haste, findings));
    all.push_back(devices.back().get());
  }
  std::vector<int> heard = steps_of_signal(all);
  devices.clear();
  for (const std::string& finding : findings->all()) FAIL_CHECK(finding);
  return heard;
}

struct Wrong {
  const char* name;
  std::vector<std::string> strategies;
  Haste haste = Haste::none;
  Mutation mutation = Mutation::none;
  const char* model = "chain";
};

const std::vector<Wrong>& wrong_turns() {
  static const std::vector<std::string> kSharded = {"zero1", "zero2", "fsdp"};
  static const std::vector<Wrong> kWrong = {
      {"the stream of sums is not joined", {"zero2", "fsdp"}, Haste::sums_not_joined},
      {"the stream of gathers is not joined", kSharded, Haste::gathers_not_joined},
      {"a sum of the norm is not waited for", kSharded, Haste::no_wait},
      {"a broadcast of buffers is not waited for", {"ddp"}, Haste::no_wait, Mutation::none, "mnist_rnn_batch_norm"},
      {"ddp's stream of sums is not joined", {"ddp"}, Haste::sums_not_joined},
      {"what is summed is changed meanwhile", {"zero2", "fsdp"}, Haste::none, Mutation::change_summed},
      {"what is gathered is changed meanwhile", kSharded, Haste::none, Mutation::change_gathered},
      {"where others' parts go is written to", kSharded, Haste::none, Mutation::write_into_gathered},
      {"a sum is used before it has ended", {"zero2", "fsdp"}, Haste::none, Mutation::use_sum_early},
      {"memory of a sum is freed early", {"zero2", "fsdp"}, Haste::none, Mutation::free_summed},
      {"memory of a gather is given back early", kSharded, Haste::none, Mutation::give_back_gathered},
      {"a rank makes one collective more", kSharded, Haste::none, Mutation::differ_between_ranks},
  };
  return kWrong;
}

}  // namespace

TEST_CASE("late collectives change nothing: strategies, ranks, accumulation, resumed or not, in fp64") {
  check_late_trials("fp64", Precision::fp64);
}
TEST_CASE("late collectives change nothing: strategies, ranks, accumulation, resumed or not, in fp32") {
  check_late_trials("fp32", Precision::fp32);
}
TEST_CASE("late collectives change nothing: strategies, ranks, accumulation, resumed or not, in bf16") {
  check_late_trials("bf16", Precision::bf16);
}

TEST_CASE("late collectives change nothing: buffers, parameters kept between passes, compression, replicas") {
  for (const std::string strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (int seed = 0; seed < seeds(); ++seed) {
      CAPTURE(strategy);
      CAPTURE(seed);
      if (strategy == "ddp") {
        Trial compressed = trial_of(strategy, 3);
        compressed.compression = GradientCompression::bf16;
        const LateRun rounded = run_late(compressed, static_cast<std::uint64_t>(seed), Haste::none);
        for (const std::string& finding : rounded.findings) FAIL_CHECK(finding);
        CHECK(same_bits(rounded.results, run_trial(compressed)));
      }

      if (strategy == "fsdp") {
        Trial hybrid = trial_of(strategy, 4);
        hybrid.shard_size = 2;
        const LateRun cut_up = run_late(hybrid, static_cast<std::uint64_t>(seed), Haste::none);
        for (const std::string& finding : cut_up.findings) FAIL_CHECK(finding);
        CHECK(same_bits(cut_up.results, run_trial(hybrid)));
      }

      Trial other = trial_of(strategy, 3);
      other.model = "mnist_rnn_batch_norm";
      other.reshard_after_forward = false;
      const LateRun late = run_late(other, static_cast<std::uint64_t>(seed), Haste::none);
      for (const std::string& finding : late.findings) FAIL_CHECK(finding);
      CHECK(same_bits(late.results, run_trial(other)));
    }
  }
}

TEST_CASE("a signal: all ranks learn of it at the same step boundary, the next one, and wait for no device") {
  for (const int ranks : {2, 3, 4}) {
    for (int seed = 0; seed < seeds(); ++seed) {
      CAPTURE(ranks);
      CAPTURE(seed);
      CHECK(hear_of_signal(ranks, static_cast<std::uint64_t>(seed), Haste::none) == std::vector<int>(ranks, kSignalStep + 1));
    }
  }
  int tried = 0;
  while (tried < 50 &&
         hear_of_signal(2, static_cast<std::uint64_t>(++tried), Haste::no_wait) == std::vector<int>(2, kSignalStep + 1)) {
  }
  std::printf("late: %-42s %-6s found after %d seeds\n", "an answer is not waited for", "", tried);
  CHECK(tried < 50);

  const WaitedDevice device;
  CHECK(steps_of_signal({&device, &device}) == std::vector<int>(2, kSignalStep + 1));
  CHECK(device.waits == 0);
}

TEST_CASE("whatever is wrong with time is found within 50 seeds") {
  for (const Wrong& wrong : wrong_turns()) {
    for (const std::string& strategy : wrong.strategies) {
      CAPTURE(wrong.name);
      CAPTURE(strategy);
      Trial trial = trial_of(strategy, 2);
      trial.model = wrong.model;
      const std::vector<RankResult> prompt = run_trial(trial);
      trial.mutation = wrong.mutation;
      int tried = 0;
      bool found = false;
      while (!found && tried < 50) {
        const LateRun late = run_late(trial, static_cast<std::uint64_t>(++tried), wrong.haste);
        found = !late.findings.empty() || !same_bits(late.results, prompt);
      }
      std::printf("late: %-42s %-6s found after %d seeds\n", wrong.name, strategy.c_str(), tried);
      std::fflush(stdout);  // a crash of the next must not swallow it
      CHECK(found);
    }
  }
}

}  // namespace hpcbench::train
