// Every fault that a test of parity must notice: `test_strategies --test-case='*mutation*'` runs them all.
#include <cstdio>

#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

struct MutationCase {
  Mutation mutation;
  const char* name;
  std::vector<std::string> strategies;
  const char* model;
};

const std::vector<MutationCase>& mutation_cases() {
  static const std::vector<MutationCase> cases = {
      {Mutation::skip_division_by_world_size,
       "the division by the number of ranks is skipped",
       {"ddp", "zero1", "zero2", "fsdp"},
       "chain"},
      {Mutation::skip_unit, "one bucket or unit is not summed", {"zero1", "zero2", "fsdp"}, "chain"},
      {Mutation::shift_shard, "a shard is shifted by one", {"zero1", "zero2", "fsdp"}, "chain"},
      {Mutation::forget_padding, "the element before the padding is forgotten", {"zero1", "zero2", "fsdp"}, "mnist_rnn"},
      {Mutation::skip_buffer_broadcast, "buffers are not broadcast", {"ddp", "zero1", "zero2", "fsdp"}, "mnist_rnn_batch_norm"},
      {Mutation::stale_gather, "a unit is gathered as it was before", {"zero1", "zero2", "fsdp"}, "chain"},
  };
  return cases;
}

/// Returns how far beyond the tolerance a run is, and whether its ranks still agree.
struct Finding {
  double gradient = 0;
  double state = 0;
  bool ranks_agree = true;
};

Finding find_difference(const Trial& trial, const RankResult& reference) {
  const std::vector<RankResult> results = run_trial(trial);
  Finding finding{worst_gradient(results.front(), reference), worst_state(results.front(), reference, trial), true};
  for (const RankResult& result : results) finding.ranks_agree &= bits_of(result) == bits_of(results.front());
  return finding;
}

}  // namespace

TEST_CASE("every mutation is noticed") {
  constexpr double kTimesTolerance = 100;
  for (const MutationCase& each : mutation_cases()) {
    for (const std::string& strategy : each.strategies) {
      CAPTURE(each.name);
      CAPTURE(strategy);
      Trial trial;
      trial.model = each.model;
      trial.steps = 6;
      const bool has_buffers = each.mutation == Mutation::skip_buffer_broadcast;
      trial.strategy = has_buffers ? strategy : "baseline";
      trial.ranks = has_buffers ? 3 : 1;
      const RankResult reference = run_trial(trial).front();  // BatchNorm: the same strategy, without the fault
      trial.strategy = strategy;
      trial.ranks = 3;
      const Finding right = find_difference(trial, reference);
      CHECK(right.ranks_agree);
      CHECK(std::max(right.gradient, right.state) <= 1);
      trial.mutation = each.mutation;
      const Finding wrong = find_difference(trial, reference);
      std::printf("mutation: %-48s %-6s gradient %8.1e, state %8.1e times the tolerance, ranks %s\n", each.name,
                  strategy.c_str(), wrong.gradient, wrong.state, wrong.ranks_agree ? "agree" : "differ");
      const bool noticed = wrong.gradient > kTimesTolerance || wrong.state > kTimesTolerance || !wrong.ranks_agree;
      CHECK(noticed);
    }
  }
}

}  // namespace hpcbench::train
