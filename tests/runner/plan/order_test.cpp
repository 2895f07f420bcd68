#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "fakes/example_experiment.hpp"
#include "plan/plan.hpp"

using namespace hpcbench;

namespace {

/// `count` configurations; of no interest but by their index.
Plan plan_of(std::size_t count, int repeats, int warmups, Order order = Order::interleaved) {
  Plan plan;
  plan.configurations.resize(count);
  plan.repeats = repeats;
  plan.warmups = warmups;
  plan.order = order;
  plan.order_seed = 0x123456789abcdU;
  return plan;
}

std::vector<std::string> named_runs(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedRun& run : runs_in_order(plan))
    names.push_back(std::to_string(run.configuration) + '/' + to_string(run.name));
  return names;
}

/// The configurations of one block in order, warm-ups aside.
std::vector<std::size_t> block_of(const std::vector<PlannedRun>& runs, int block) {
  std::vector<std::size_t> configurations;
  for (const PlannedRun& run : runs) {
    if (run.block == block && !run.name.is_warmup()) configurations.push_back(run.configuration);
  }
  return configurations;
}

}  // namespace

TEST_CASE("sequential: one configuration after the other, warm-ups first") {
  CHECK(named_runs(plan_of(2, 2, 2, Order::sequential)) ==
        std::vector<std::string>{"0/w01", "0/w02", "0/r01", "0/r02", "1/w01", "1/w02", "1/r01", "1/r02"});
}

TEST_CASE("interleaved: each repeat is a block with every configuration once") {
  CHECK(rc::check("complete blocks, warm-ups directly before the first repeat", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 40);
    const int repeats = *rc::gen::inRange(1, 6);
    const int warmups = *rc::gen::inRange(0, 3);
    const std::vector<PlannedRun> runs = runs_in_order(plan_of(count, repeats, warmups));
    RC_ASSERT(runs.size() == count * static_cast<std::size_t>(repeats + warmups));
    for (int repeat = 1; repeat <= repeats; ++repeat) {
      const std::vector<std::size_t> block = block_of(runs, repeat);
      RC_ASSERT(block.size() == count);
      RC_ASSERT(std::set<std::size_t>(block.begin(), block.end()).size() == count);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i > 0) RC_ASSERT(runs[i - 1].block <= runs[i].block);
      if (!runs[i].name.is_warmup()) continue;
      const auto ahead = static_cast<std::size_t>(warmups - runs[i].name.number + 1);
      RC_ASSERT(runs[i + ahead].configuration == runs[i].configuration);
      RC_ASSERT((runs[i + ahead].name == RunName{RunKind::repeat, 1}));
    }
  }));
}

TEST_CASE("the order is shuffled anew for each repeat, by the recorded seed alone") {
  const Plan plan = plan_of(12, 3, 0);
  const std::vector<PlannedRun> runs = runs_in_order(plan);
  CHECK(block_of(runs, 1) != block_of(runs, 2));
  CHECK(block_of(runs, 2) != block_of(runs, 3));
  CHECK(named_runs(plan) == named_runs(plan));
  Plan other = plan;
  other.order_seed += 1;
  CHECK(named_runs(other) != named_runs(plan));
  // Computed by another program from the comment in plan/order.cpp.
  CHECK(block_of(runs, 1) == std::vector<std::size_t>{10, 11, 1, 5, 4, 9, 0, 2, 3, 8, 7, 6});
}

TEST_CASE("each of the six orders of three configurations comes about equally often") {
  std::map<std::vector<std::size_t>, int> counts;
  Plan plan = plan_of(3, 6000, 0);
  const std::vector<PlannedRun> runs = runs_in_order(plan);
  for (std::size_t i = 0; i < runs.size(); i += 3) {
    ++counts[{runs[i].configuration, runs[i + 1].configuration, runs[i + 2].configuration}];
  }
  CHECK(counts.size() == 6);
  // 1,000 each; the standard deviation is 29.
  for (const auto& entry : counts) CHECK(std::abs(entry.second - 1000) < 150);
}

TEST_CASE("the seed of the order is 52 bits of the experiment's name") {
  // printf example | sha256sum: 50d858e0985ecc7f...
  CHECK(make_plan(example_experiment()).order_seed == 0x50d858e0985ecU);
}
