#include <algorithm>
#include <cstdlib>

#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

/// All rows of the table but the baseline, so that a strategy that is added is tested by that; of two names for one only the
/// first.
std::vector<std::string> strategies_to_test() {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_rows()) {
    const bool known = std::any_of(strategy_rows().data(), &row, [&](const StrategyRow& r) { return r.make == row.make; });
    if (!known && row.make != make_baseline) names.emplace_back(row.name);
  }
  return names;
}

/// All of 1 to 4 where much differs from the defaults or nothing, and with HPCBENCH_LONG=1; else the odd one.
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

/// Each value of each choice, and the pairs that might meet badly; all combinations with HPCBENCH_LONG=1.
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

}  // namespace

TEST_CASE("every strategy at 1 to 4 ranks equals the baseline: mnist_rnn") {
  for (const Trial& trial : choices("mnist_rnn")) check_against_baseline(trial);
}

TEST_CASE("every strategy at 1 to 4 ranks equals the baseline: BERT") {
  for (const Trial& trial : choices("bert")) check_against_baseline(trial);
}

}  // namespace hpcbench::train
