// fsdp whose units are cut among some ranks, with replicas between them (shard_size).
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "trainers/strategies/trial.hpp"
#include "trainers/strategies/trial_models.hpp"

namespace hpcbench::train {

namespace {

Trial hybrid_trial(int ranks, int shard_size) {
  Trial trial;
  trial.strategy = "fsdp";
  trial.ranks = ranks;
  trial.shard_size = shard_size;
  trial.model = "chain";
  trial.optimizer = OptimizerKind::adamw;
  trial.weight_decay = 0.05;
  trial.clip = 0.5;
  trial.steps = 6;
  return trial;
}

RankResult baseline_of(Trial trial) {
  trial.strategy = "baseline";
  trial.ranks = 1;
  trial.shard_size.reset();
  return run_trial(trial).front();
}

}  // namespace

TEST_CASE("fsdp cut up among some ranks equals the baseline, on all ranks alike") {
  for (const auto& [ranks, shard_size] : {std::pair{4, 2}, {6, 2}, {6, 3}, {4, 4}}) {
    for (const bool collectives : {false, true}) {
      for (const char* const model : {"chain", "mnist_rnn_batch_norm"}) {
        if (ranks == 6 && model != std::string("chain")) continue;  // 12 samples of a batch: 2 each are too few to normalise
        CAPTURE(ranks);
        CAPTURE(shard_size);
        CAPTURE(collectives);
        CAPTURE(model);
        Trial trial = hybrid_trial(ranks, shard_size);
        trial.model = model;
        trial.collectives = collectives;
        trial.micro_batches = 2;
        const std::vector<RankResult> results = run_trial(trial);
        for (const RankResult& result : results) CHECK((bits_of(result) == bits_of(results.front())));
        if (model == std::string("chain")) {
          const RankResult baseline = baseline_of(trial);
          CHECK(worst_gradient(results.front(), baseline) <= 1);
          CHECK(worst_state(results.front(), baseline, trial) <= 1);
          CHECK(*results.front().norm == doctest::Approx(*baseline.norm).epsilon(1e-12));
        } else {  // batches are normalised by each rank
          trial.shard_size.reset();
          CHECK(worst_state(results.front(), run_trial(trial).front(), trial) <= 1);
        }
      }
    }
  }
}

TEST_CASE("cut up among some ranks: memory of a part, bytes of the parts' and the replicas' exchanges") {
  Trial trial = hybrid_trial(4, 2);
  trial.single = true;
  trial.clip = 0;
  const std::vector<RankResult> results = run_trial(trial);
  for (const RankResult& result : results) {
    const StrategyStatistics& statistics = result.statistics;
    const double bytes = 4.0 * static_cast<double>(result.parameters);
    const double unit = 4.0 * kTrialChainWidth * kTrialChainWidth;
    CHECK(static_cast<double>(statistics.memory.peak(Held::optimizer)) == doctest::Approx(2 * bytes / 2).epsilon(0.05));
    CHECK(static_cast<double>(statistics.memory.peak(Held::parameters)) == doctest::Approx(bytes / 2 + 2 * unit).epsilon(0.05));
    const double sent = static_cast<double>(statistics.traffic.bytes_sent) / static_cast<double>(statistics.steps);
    // Two gathers and a sum of halves, except the last unit's second gather; half of the sum again over two replicas.
    CHECK(sent == doctest::Approx(3 * bytes / 2 - unit / 2 + bytes / 2).epsilon(0.05));
  }
}

TEST_CASE("a checkpoint of fsdp cut up among some ranks goes on elsewhere, and there what was begun elsewhere") {
  const RankResult straight = baseline_of(hybrid_trial(4, 2));
  Trial begun = hybrid_trial(4, 2);
  begun.steps = 3;
  Trial elsewhere = hybrid_trial(1, 2);
  elsewhere.strategy = "zero1";
  elsewhere.ranks = 3;
  elsewhere.shard_size.reset();
  elsewhere.from = run_trial(begun).front().kept;
  CHECK(worst_state(run_trial(elsewhere).front(), straight, elsewhere) <= 1);

  elsewhere.from.reset();
  elsewhere.steps = 3;
  Trial resumed = hybrid_trial(4, 2);
  resumed.from = run_trial(elsewhere).front().kept;
  CHECK(worst_state(run_trial(resumed).front(), straight, resumed) <= 1);
}

TEST_CASE("shard_size is for fsdp through a process group, and divides its ranks") {
  Settings settings = make_settings({});
  settings.shard_size = 2;
  World world;
  const auto error = [&] {
    try {
      check_settings(settings, world);
    } catch (const InputError& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  settings.strategy = "ddp";
  CHECK(error() == "error: shard_size is a setting of fsdp, but the strategy is ddp");
  settings.strategy = "fsdp";
  world.size = 3;
  CHECK(
      error() ==
      "error: 3 processes cannot be parted into groups of shard_size 2: choose a number that divides 3, or leave it out to cut "
      "up among all");
  world.size = 4;
  CHECK(error().empty());
  settings.exchange = ExchangeChoice::shared_memory;
  CHECK(error() == "error: exchange shared_memory is among all ranks: leave shard_size or exchange out");
}

}  // namespace hpcbench::train
