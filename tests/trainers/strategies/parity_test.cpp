#include <algorithm>
#include <cstdlib>

#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

/// Returns all rows of the table except the baseline, so that a new strategy is tested automatically; of two names for one only
/// the first.
std::vector<std::string> strategies_to_test() {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_rows()) {
    const bool known = std::any_of(strategy_rows().data(), &row, [&](const StrategyRow& r) { return r.make == row.make; });
    if (!known && row.make != make_baseline) names.emplace_back(row.name);
  }
  return names;
}

/// Returns all of 1 to 4 if much differs from the defaults or nothing, and with HPCBENCH_LONG=1; else the odd one.
std::vector<int> ranks_to_test(const Trial& trial) {
  const bool plain = trial.optimizer == OptimizerKind::sgd && trial.micro_batches == 1 && !trial.dropout;
  const bool everything = trial.optimizer == OptimizerKind::adamw && trial.micro_batches > 1 && trial.dropout;
  return plain || everything || std::getenv("HPCBENCH_LONG") ? std::vector<int>{1, 2, 3, 4} : std::vector<int>{3};
}

std::string words_of(const Trial& trial) {
  return trial.model + ", " + (trial.optimizer == OptimizerKind::sgd ? "sgd" : "adamw") + ", weight decay " +
         std::to_string(trial.weight_decay) + ", clip " + std::to_string(trial.clip) + ", dropout " +
         std::to_string(trial.dropout) + ", micro-batches " + std::to_string(trial.micro_batches);
}

/// Returns each value of each choice, and the pairs that might interact; all combinations with HPCBENCH_LONG=1.
std::vector<Trial> choices(const std::string& model) {
  const bool all = std::getenv("HPCBENCH_LONG") != nullptr;
  std::vector<Trial> trials;
  for (int bits = 0; bits < 32; ++bits) {
    const bool chosen = bits == 0 || bits == 1 || bits == 0b11110 || bits == 0b11111 || bits == 0b01010;
    if (!all && !chosen) continue;
    Trial trial;
    trial.model = model;
    trial.optimizer = bits & 1 ? OptimizerKind::adamw : OptimizerKind::sgd;
    trial.weight_decay = bits & 2 ? 0.05 : 0;
    trial.clip = bits & 4 ? 0.5 : 0;
    trial.micro_batches = bits & 8 ? 3 : 1;
    trial.dropout = (bits & 16) != 0;
    trials.push_back(trial);
  }
  return trials;
}

void check_against_baseline(const Trial& chosen) {
  CAPTURE(words_of(chosen));
  Trial trial = chosen;
  const RankResult baseline = run_trial(trial).front();
  for (const std::string& strategy : strategies_to_test()) {
    for (const int ranks : ranks_to_test(chosen)) {
      CAPTURE(strategy);
      CAPTURE(ranks);
      trial.strategy = strategy;
      trial.ranks = ranks;
      const std::vector<RankResult> results = run_trial(trial);
      for (const RankResult& result : results) CHECK((bits_of(result) == bits_of(results.front())));
      CHECK(worst_gradient(results.front(), baseline) <= 1);
      CHECK(worst_state(results.front(), baseline, trial) <= 1);
      CHECK(results.front().norm.has_value() == (trial.clip > 0));
      if (trial.clip > 0) CHECK(*results.front().norm == doctest::Approx(*baseline.norm).epsilon(1e-12));
    }
  }
}

std::vector<RankResult> run_as(Trial trial, const std::string& strategy, int ranks) {
  trial.strategy = strategy;
  trial.ranks = ranks;
  return run_trial(trial);
}

}  // namespace

TEST_CASE("every strategy at 1 to 4 ranks equals the baseline: ten units") {
  for (const Trial& trial : choices("chain")) check_against_baseline(trial);
}

TEST_CASE("every strategy at 1 to 4 ranks equals the baseline: mnist_rnn") {
  for (const Trial& trial : choices("mnist_rnn")) check_against_baseline(trial);
}

TEST_CASE("every strategy at 1 to 4 ranks equals the baseline: BERT") {
  for (const Trial& trial : choices("bert")) check_against_baseline(trial);
}

TEST_CASE("fsdp with one unit, without resharding; zero as DeepSpeed does it") {
  for (const char* const model : {"chain", "mnist_rnn"}) {
    Trial trial;
    trial.model = model;
    trial.micro_batches = 2;
    trial.clip = 0.5;
    trial.optimizer = OptimizerKind::adamw;
    const RankResult baseline = run_trial(trial).front();
    const auto check = [&](const char* strategy) {
      const std::vector<RankResult> results = run_as(trial, strategy, 3);
      for (const RankResult& result : results) CHECK((bits_of(result) == bits_of(results.front())));
      CHECK(worst_gradient(results.front(), baseline) <= 1);
      CHECK(worst_state(results.front(), baseline, trial) <= 1);
    };
    trial.wrap = FsdpWrap::none;
    check("fsdp");
    trial.wrap = FsdpWrap::layers;
    trial.reshard_after_forward = false;
    check("fsdp");
    trial.flavour = Flavour::reference;
    check("zero1");
  }
}

TEST_CASE("sums are made in the order of the ranks: zero1, zero2 and fsdp agree bit for bit, and so do two runs") {
  Trial trial;
  trial.model = "chain";
  trial.single = true;
  trial.optimizer = OptimizerKind::adamw;
  for (const int ranks : {2, 3, 4}) {
    const RankResult zero1 = run_as(trial, "zero1", ranks).front();
    CHECK((bits_of(zero1) == bits_of(run_as(trial, "zero1", ranks).front())));
    CHECK((bits_of(zero1) == bits_of(run_as(trial, "zero2", ranks).front())));
    CHECK((bits_of(zero1) == bits_of(run_as(trial, "fsdp", ranks).front())));
    Trial other = trial;
    other.bucket_cap_mb = 1;
    CHECK((bits_of(zero1) == bits_of(run_as(other, "zero2", ranks).front())));
  }
}

TEST_CASE("any strategy continues a checkpoint of any other, at another number of ranks") {
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    Trial trial;
    trial.model = "chain";
    trial.optimizer = optimizer;
    trial.weight_decay = 0.05;
    const RankResult baseline = run_trial(trial).front();
    std::vector<std::string> names = strategies_to_test();
    names.emplace_back("baseline");
    for (std::size_t first = 0; first < names.size(); ++first) {
      Trial begun = trial;
      begun.steps = 10;
      const int ranks = names[first] == "baseline" ? 1 : static_cast<int>(2 + first % 3);
      const Kept kept = run_as(begun, names[first], ranks).front().kept;
      CHECK(kept.steps == 10);
      for (std::size_t second = 0; second < names.size(); ++second) {
        // With AdamW every strategy is left once and entered once.
        if (optimizer == OptimizerKind::adamw && second != (first + 1) % names.size()) continue;
        CAPTURE(names[first]);
        CAPTURE(names[second]);
        Trial continued = trial;
        continued.from = kept;
        const RankResult result =
            run_as(continued, names[second], names[second] == "baseline" ? 1 : static_cast<int>(1 + (first + second) % 3))
                .front();
        CHECK(worst_state(result, baseline, trial) <= 1);
      }
    }
  }
}

TEST_CASE("dp splits as torch.chunk does; faithful weighs the parts alike") {
  Trial trial;
  trial.model = "chain";
  trial.batch = 5;  // over 4 devices: 2, 2, 1 and one idle
  trial.steps = 3;
  const RankResult baseline = run_trial(trial).front();
  CHECK(worst_gradient(run_as(trial, "dp", 4).front(), baseline) <= 1);
  CHECK(worst_state(run_as(trial, "dp", 4).front(), baseline, trial) <= 1);
  // The mean of the parts' means: (a + b) / 2, (c + d) / 2 and e count alike.
  trial.flavour = Flavour::reference;
  trial.steps = 1;
  const RankResult reference = run_as(trial, "dp", 4).front();
  Trial single = trial;
  single.strategy = "baseline";
  const auto loss_of = [&](std::int64_t batch) {
    single.batch = batch;
    return run_trial(single).front().losses.front();
  };
  const double of_5 = loss_of(5) * 5, of_4 = loss_of(4) * 4, of_2 = loss_of(2) * 2;
  CHECK(reference.losses.front() == doctest::Approx((of_2 / 2 + (of_4 - of_2) / 2 + (of_5 - of_4)) / 3).epsilon(1e-12));
}

TEST_CASE("a parameter that the loss does not depend on is named, also with accumulation") {
  for (const char* const strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
    for (const int micro_batches : {1, 2}) {
      CAPTURE(strategy);
      Trial trial;
      trial.model = "unused";
      trial.strategy = strategy;
      trial.ranks = 2;
      trial.micro_batches = micro_batches;
      for (const RankResult& result : run_trial(trial, true))
        CHECK(result.error.find("the loss does not depend on forgotten") != std::string::npos);
    }
  }
}

}  // namespace hpcbench::train
