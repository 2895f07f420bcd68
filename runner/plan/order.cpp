#include <numeric>

#include "plan/plan.hpp"

namespace hpcbench {

namespace {

// The order of runs is part of what is reported, so its generator is given here to the bit, and no library's is used (the
// standard leaves std::shuffle and the distributions to the implementation).
//
//   mix(z): z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31      (64 bits)
//   next(): state += 0x9E3779B97F4A7C15; return mix(state)
//           SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
//   state at the start = mix(order_seed) ^ mix(repeat)
//   below(n): draw x until x >= 2^64 mod n; return x mod n                                 (every remainder equally often)
//   shuffle: for i = n - 1 down to 1, swap elements i and below(i + 1)                     (Fisher and Yates)

std::uint64_t mix(std::uint64_t z) {
  z ^= z >> 30U;
  z *= 0xBF58476D1CE4E5B9U;
  z ^= z >> 27U;
  z *= 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

class OrderGenerator {
 public:
  OrderGenerator(std::uint64_t order_seed, int repeat) : state_(mix(order_seed) ^ mix(static_cast<std::uint64_t>(repeat))) {}

  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t rejected = (0 - n) % n;  // 2^64 mod n
    std::uint64_t x = next();
    while (x < rejected) x = next();
    return x % n;
  }

 private:
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    return mix(state_);
  }

  std::uint64_t state_;
};

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t order_seed, int repeat) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  OrderGenerator generator(order_seed, repeat);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator.below(i)]);
  return order;
}

void append_run(std::vector<PlannedRun>& runs, const Plan& plan, std::size_t configuration, int repeat) {
  for (int warmup = 1; repeat == 1 && warmup <= plan.warmups; ++warmup)
    runs.push_back({configuration, {RunKind::warmup, warmup}, repeat});
  runs.push_back({configuration, {RunKind::repeat, repeat}, repeat});
}

}  // namespace

std::vector<PlannedRun> runs_in_order(const Plan& plan) {
  const std::size_t count = plan.configurations.size();
  std::vector<PlannedRun> runs;
  runs.reserve(count * static_cast<std::size_t>(plan.repeats + plan.warmups));
  if (plan.order == Order::sequential) {
    for (std::size_t configuration = 0; configuration < count; ++configuration) {
      for (int repeat = 1; repeat <= plan.repeats; ++repeat) append_run(runs, plan, configuration, repeat);
    }
    return runs;
  }
  for (int repeat = 1; repeat <= plan.repeats; ++repeat) {
    for (const std::size_t configuration : shuffled(count, plan.order_seed, repeat))
      append_run(runs, plan, configuration, repeat);
  }
  return runs;
}

std::optional<double> gpu_hours(const Plan& plan) {
  double gpu_seconds = 0;
  for (const Configuration& configuration : plan.configurations) {
    const std::optional<double>& time_s = configuration.work->resources.time_s;
    if (!time_s) return std::nullopt;
    gpu_seconds += static_cast<double>(configuration.gpus()) * *time_s * plan.repeats;
  }
  return gpu_seconds / 3600;
}

long long run_seed(const Experiment& experiment, RunName name) {
  return experiment.seed + (experiment.seed_per_repeat ? name.number : 0);
}

}  // namespace hpcbench
