// Strategies on a device whose collectives run late (late_device.hpp): the same bits as on one where they run at once, and what
// is wrong with time is found. HPCBENCH_LATE_SEEDS says how many seeds each training is tried with.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "trainers/late/late_device.hpp"
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
  devices.clear();  // what has not run yet does now
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

bool same_bits(const std::vector<RankResult>& some, const std::vector<RankResult>& others) {
  for (std::size_t rank = 0; rank < some.size(); ++rank) {
    if (bits_of(some[rank]) != bits_of(others[rank]) || some[rank].losses != others[rank].losses) return false;
  }
  return true;
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
      {"a sum is told as ended too early", {"ddp"}, Haste::early_future},
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

TEST_CASE("late collectives change nothing: strategies, ranks, precisions, accumulation") {
  for (const std::string strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int ranks : {1, 2, 3, 4}) {
      for (const bool single : {false, true}) {
        for (const std::int64_t micro_batches : {1, 3}) {
          Trial trial = trial_of(strategy, ranks);
          trial.single = single;
          trial.micro_batches = micro_batches;
          const std::vector<RankResult> prompt = run_trial(trial);
          for (int seed = 0; seed < seeds(); ++seed) {
            CAPTURE(strategy);
            CAPTURE(ranks);
            CAPTURE(seed);
            const LateRun late = run_late(trial, static_cast<std::uint64_t>(seed), Haste::none);
            for (const std::string& finding : late.findings) FAIL_CHECK(finding);
            CHECK(same_bits(late.results, prompt));
          }
        }
      }
    }
  }
}

TEST_CASE("late collectives change nothing: a training that is resumed, buffers, parameters kept between passes") {
  for (const std::string strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (int seed = 0; seed < seeds(); ++seed) {
      CAPTURE(strategy);
      CAPTURE(seed);
      Trial trial = trial_of(strategy, 2);
      const std::vector<RankResult> straight = run_trial(trial);
      trial.steps = 1;
      const LateRun begun = run_late(trial, static_cast<std::uint64_t>(seed), Haste::none);
      trial.steps = 3;
      trial.from = begun.results.front().kept;
      const LateRun resumed = run_late(trial, static_cast<std::uint64_t>(seed) + 1'000'000, Haste::none);
      for (const std::string& finding : begun.findings) FAIL_CHECK(finding);
      for (const std::string& finding : resumed.findings) FAIL_CHECK(finding);
      const bool as_straight = bits_of(resumed.results.front()) == bits_of(straight.front());
      CHECK(as_straight);

      Trial other = trial_of(strategy, 3);
      other.model = "mnist_rnn_batch_norm";
      other.reshard_after_forward = false;
      const LateRun late = run_late(other, static_cast<std::uint64_t>(seed), Haste::none);
      for (const std::string& finding : late.findings) FAIL_CHECK(finding);
      CHECK(same_bits(late.results, run_trial(other)));
    }
  }
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
      CHECK(found);
    }
  }
}

}  // namespace hpcbench::train
