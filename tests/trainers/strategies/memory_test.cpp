#include <cstdio>

#include "trainers/strategies/trial.hpp"
#include "trainers/strategies/trial_models.hpp"

namespace hpcbench::train {

namespace {

/// The formulas of docs/strategies.md, in bytes; P, N, b and u as there.
struct Expected {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double sent = 0;  // a step
};

Expected expected_of(const std::string& strategy, double parameters, double ranks, double bucket, double unit) {
  const double bytes = 4 * parameters;
  const double once = bytes * (ranks - 1) / ranks;
  if (strategy == "ddp") return {bytes, bytes, 2 * bytes, 2 * once};
  if (strategy == "zero1") return {bytes, bytes, 2 * bytes / ranks, 2 * once};
  if (strategy == "zero2") return {bytes, bytes / ranks + 2 * bucket, 2 * bytes / ranks, 2 * once};
  const double two_units = bytes / ranks + 2 * unit;
  return {two_units, two_units, 2 * bytes / ranks, 3 * once};
}

std::size_t first_of(const std::vector<Moment>& moments, const std::string& what) {
  for (std::size_t index = 0; index < moments.size(); ++index) {
    if (moments[index].what == what) return index;
  }
  return moments.size();
}

std::size_t last_of(const std::vector<Moment>& moments, const std::string& what) {
  std::size_t last = 0;
  for (std::size_t index = 0; index < moments.size(); ++index) {
    if (moments[index].what == what) last = index;
  }
  return last;
}

Trial measured_trial(const std::string& strategy, int ranks) {
  Trial trial;
  trial.strategy = strategy;
  trial.ranks = ranks;
  trial.model = "chain";
  trial.single = true;
  trial.optimizer = OptimizerKind::adamw;
  trial.steps = 4;
  const double parameters = kTrialChainUnits * kTrialChainWidth * kTrialChainWidth;
  trial.bucket_cap_mb = 4 * parameters / 20 / 1024 / 1024;
  return trial;
}

}  // namespace

TEST_CASE("a checkpoint makes one unit whole at a time") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int ranks : {2, 4}) {
      CAPTURE(strategy);
      CAPTURE(ranks);
      const RankResult result = run_trial(measured_trial(strategy, ranks)).front();
      const std::int64_t unit_bytes = strategy == std::string("ddp") ? 0 : 4 * result.parameters / result.statistics.units;
      constexpr std::int64_t kSmall = 4096;  // what a barrier exchanges
      CHECK(result.visit_bytes <= ranks * (unit_bytes + kSmall));
      std::printf("%s, %d ranks: a checkpoint holds %lld bytes of each rank (a unit: %lld, the whole state: %lld)\n", strategy,
                  ranks, static_cast<long long>(result.visit_bytes / ranks), static_cast<long long>(unit_bytes),
                  static_cast<long long>(12 * result.parameters));
    }
  }
}

TEST_CASE("a checkpoint in shards makes nothing whole") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    CAPTURE(strategy);
    const int ranks = 4;
    const std::vector<RankResult> results = run_trial(measured_trial(strategy, ranks));
    constexpr std::int64_t kSmall = 4096;  // what a barrier exchanges
    CHECK(results.front().shard_bytes <= ranks * kSmall);
    if (strategy == std::string("ddp")) continue;
    // The parameters and two numbers for each, in fp32, of a fourth of the elements.
    for (const RankResult& result : results) {
      std::int64_t bytes = 0;
      for (const std::vector<StatePiece>* pieces : {&result.shard->model, &result.shard->optimizer}) {
        for (const StatePiece& piece : *pieces) bytes += static_cast<std::int64_t>(piece.values.nbytes());
      }
      CHECK(static_cast<double>(bytes) ==
            doctest::Approx(3.0 * 4 * static_cast<double>(result.parameters) / ranks).epsilon(0.01));
    }
  }
}

TEST_CASE("memory by kind and bytes sent are those of the formulas") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int ranks : {2, 4}) {
      CAPTURE(strategy);
      CAPTURE(ranks);
      for (const RankResult& result : run_trial(measured_trial(strategy, ranks))) {
        const StrategyStatistics& statistics = result.statistics;
        REQUIRE(statistics.measured);
        const double matrix = 4.0 * kTrialChainWidth * kTrialChainWidth / 2;  // larger than the bucket's cap
        const Expected expected = expected_of(strategy, static_cast<double>(result.parameters), ranks, matrix, 2 * matrix);
        const auto peak = [&](Held kind) { return static_cast<double>(statistics.memory.peak(kind)); };
        CHECK(peak(Held::parameters) == doctest::Approx(expected.parameters).epsilon(0.05));
        CHECK(peak(Held::gradients) == doctest::Approx(expected.gradients).epsilon(0.05));
        CHECK(peak(Held::optimizer) == doctest::Approx(expected.optimizer).epsilon(0.05));
        const double sent = static_cast<double>(statistics.traffic.bytes_sent) / static_cast<double>(statistics.steps);
        CHECK(sent == doctest::Approx(expected.sent).epsilon(0.05));
        CHECK(statistics.traffic.exposed_s > 0);
        CHECK(statistics.traffic.hidden_s > 0);
        CHECK(statistics.step_s > statistics.traffic.exposed_s + statistics.traffic.hidden_s);
        std::printf("%s, %d ranks: parameters %.0f (%.0f), gradients %.0f (%.0f), optimizer %.0f (%.0f), sent %.0f (%.0f)\n",
                    strategy, ranks, peak(Held::parameters), expected.parameters, peak(Held::gradients), expected.gradients,
                    peak(Held::optimizer), expected.optimizer, sent, expected.sent);
      }
    }
  }
}

TEST_CASE("sums begin before backward has ended, and no unit is held longer than it is needed") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    CAPTURE(strategy);
    const RankResult result = run_trial(measured_trial(strategy, 3)).front();
    const std::vector<Moment>& moments = result.statistics.last_step;
    CHECK(result.statistics.units >= 3);
    CHECK(first_of(moments, "sum") < last_of(moments, "gradient"));
    CHECK(result.statistics.overlapped_steps >= result.statistics.steps - 2);
    if (strategy == std::string("ddp")) continue;  // c10d has several sums under way
    // One unit is summed while the next one fills.
    int summed = 0;
    for (const Moment& moment : moments) {
      summed += moment.what == "sum" ? 1 : moment.what == "sum-done" ? -1 : 0;
      CHECK(summed <= 1);
    }
  }
}

TEST_CASE("with one bucket nothing overlaps, and that is reported") {
  for (const char* const strategy : {"ddp", "zero1", "zero2"}) {
    CAPTURE(strategy);
    Trial trial = measured_trial(strategy, 2);
    trial.bucket_cap_mb = 25;
    const StrategyStatistics statistics = run_trial(trial).front().statistics;
    CHECK(statistics.units == 1);
    CHECK(statistics.overlapped_steps == 0);
    CHECK(statistics.traffic.exposed_s > 0);
  }
}

TEST_CASE("gradients of several micro-batches are summed in ddp's buckets, not beside them") {
  Trial trial = measured_trial("ddp", 2);
  trial.micro_batches = 3;
  for (const RankResult& result : run_trial(trial)) {
    const StrategyStatistics& statistics = result.statistics;
    CHECK(statistics.memory.peak(Held::gradients) == result.parameters * 4);
    // Once a step, not once a micro-batch.
    CHECK(statistics.traffic.bytes_sent / statistics.steps == result.parameters * 4);
  }
}

TEST_CASE("activations are what a pass holds beside parameters, gradients and optimiser") {
  // One rank, so that the process's allocations are its own. A unit saves, in fp32, of B samples of width 64: its input (64 B),
  // the middle before the product (32 B, tanh's result); the sum of each is the next one's input. Twenty-fold the samples are
  // twenty-fold that; parameters and gradients do not count.
  const auto activations = [](const char* strategy, std::int64_t batch) {
    Trial trial = measured_trial(strategy, 1);
    trial.batch = batch;
    return static_cast<double>(run_trial(trial).front().statistics.peak_activation_bytes);
  };
  const double saved = 4.0 * kTrialChainUnits * (kTrialChainWidth + kTrialChainWidth / 2);  // a sample
  for (const char* const strategy : {"baseline", "dp", "ddp", "zero1", "zero2", "fsdp"}) {
    CAPTURE(strategy);
    const double grown = (activations(strategy, 2000) - activations(strategy, 1000)) / 1000;
    std::printf("%s: %.0f bytes of activations a sample, %.0f are saved for backward\n", strategy, grown, saved);
    CHECK(grown >= saved);
    CHECK(grown <= 1.6 * saved);
  }
}

TEST_CASE("fsdp gathers the next unit while one is at work, holds two at most, and gathers each twice but the last") {
  const RankResult result = run_trial(measured_trial("fsdp", 2)).front();
  int held = 0;
  std::vector<int> gathered(kTrialChainUnits);
  for (const Moment& moment : result.statistics.last_step) {
    if (moment.what == "gather") ++gathered[static_cast<std::size_t>(moment.unit)];
    held += moment.what == "gather" ? 1 : moment.what == "free" ? -1 : 0;
    CHECK(held <= 2);
  }
  CHECK(held == 0);
  for (int unit = 0; unit < kTrialChainUnits; ++unit)
    CHECK(gathered[static_cast<std::size_t>(unit)] == (unit + 1 == kTrialChainUnits ? 1 : 2));
  // In the order of the forward pass unit 1 is gathered before unit 0 is freed.
  CHECK(result.statistics.last_step[0].what == "gather");
  CHECK(result.statistics.last_step[2].what == "gather");
  CHECK(result.statistics.last_step[2].unit == 1);
  CHECK(result.statistics.last_step[3].what == "free");
}

}  // namespace hpcbench::train
