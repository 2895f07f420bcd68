// ddp that sums gradients as bf16 or fp16.
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

/// Half a unit in the last place of a value below 1 in magnitude 1: relative.
double rounding_of(GradientCompression type) { return std::ldexp(1.0, type == GradientCompression::bf16 ? -8 : -11); }

}  // namespace

TEST_CASE("ddp with compressed gradients: their sums are rounded, no more, and half as many bytes are sent") {
  for (const bool single : {true, false}) {
    Trial trial;
    trial.single = single;
    trial.steps = 3;
    trial.micro_batches = 2;
    const RankResult reference = run_trial(trial).front();
    trial.strategy = "ddp";
    for (const int ranks : {2, 3}) {
      trial.ranks = ranks;
      trial.compression.reset();
      const RankResult whole = run_trial(trial).front();
      for (const auto type : {GradientCompression::bf16, GradientCompression::fp16}) {
        CAPTURE(single);
        CAPTURE(ranks);
        CAPTURE(to_string(type));
        trial.compression = type;
        const std::vector<RankResult> results = run_trial(trial);
        for (const RankResult& result : results) CHECK(bits_of(result) == bits_of(results.front()));
        // Each rank's part is rounded, and each of the ring's ranks - 1 sums, which are larger: less than 2 ranks roundings.
        const double worst = worst_gradient(results.front(), reference, 1);
        CHECK(worst <= 2 * ranks * rounding_of(type));
        CHECK(worst > rounding_of(type) / 100);  // they are indeed rounded
        // (An odd number of elements is cut off once for each bucket.)
        const double share = single ? 2 : 4;
        CHECK(static_cast<double>(results.front().statistics.traffic.bytes_sent) ==
              doctest::Approx(static_cast<double>(whole.statistics.traffic.bytes_sent) / share).epsilon(1e-3));
        CHECK(bits_of(run_trial(trial).front()) == bits_of(results.front()));
      }
    }
  }
}

TEST_CASE("gradient_compression is for ddp through a process group") {
  Settings settings = make_settings({});
  settings.gradient_compression = GradientCompression::bf16;
  const auto error = [&] {
    try {
      check_settings(settings, World{});
    } catch (const InputError& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  for (const char* strategy : {"baseline", "dp", "zero1", "fsdp"}) {
    settings.strategy = strategy;
    CHECK(error() == std::string("error: gradient_compression is a setting of ddp, but the strategy is ") + strategy);
  }
  settings.strategy = "ddp";
  CHECK(error().empty());
  settings.exchange = ExchangeChoice::shared_memory;
  CHECK(error().find("error: exchange shared_memory sums gradients as they are") == 0);
}

}  // namespace hpcbench::train
