// Measurements of strategies on a device with its own clock, like a GPU: only by that clock.
#include <memory>

#include "devices/cpu_device.hpp"
#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

constexpr double kLapS = 1;
constexpr SpanTimes kSpanTimes{0.5, 0.125};

/// The progress of a device, and its requested measurements.
struct DeviceProgress {
  int laps = 0;
  int spans = 0;
  int waits = 0;
};

class ScriptedLap final : public Lap {
 public:
  explicit ScriptedLap(DeviceProgress& progress) : progress_(progress), known_after_(progress.waits + 1) { ++progress.laps; }
  void end() override { has_ended_ = true; }
  /// Only when the host has waited for the device.
  std::optional<double> seconds() const override {
    return has_ended_ && progress_.waits >= known_after_ ? std::optional<double>(kLapS) : std::nullopt;
  }

 private:
  DeviceProgress& progress_;
  int known_after_;
  bool has_ended_ = false;
};

class ScriptedSpan final : public Span {
 public:
  void hold_computing() override { is_held_ = true; }
  std::optional<SpanTimes> times() const override { return is_held_ ? std::optional<SpanTimes>(kSpanTimes) : std::nullopt; }

 private:
  bool is_held_ = false;
};

class ScriptedStream final : public SideStream {
 public:
  explicit ScriptedStream(DeviceProgress& progress) : progress_(progress) {}
  std::shared_ptr<Span> enqueue(const std::function<void()>& work) override {
    ++progress_.spans;
    work();
    return std::make_shared<ScriptedSpan>();
  }

 private:
  DeviceProgress& progress_;
};

/// The CPU, each stretch of which takes kLapS, and each exchange kSpanTimes.
class ScriptedDevice final : public CpuDevice {
 public:
  void synchronise() const override { ++progress.waits; }
  std::unique_ptr<SideStream> make_stream() const override { return std::make_unique<ScriptedStream>(progress); }
  std::unique_ptr<Lap> begin_lap() const override { return std::make_unique<ScriptedLap>(progress); }
  mutable DeviceProgress progress;
};

struct Measured {
  StrategyStatistics statistics;  // of the first rank
  DeviceProgress progress;
};

Measured measure(Trial trial) {
  std::vector<std::unique_ptr<ScriptedDevice>> devices;
  for (int rank = 0; rank < trial.ranks; ++rank) {
    devices.push_back(std::make_unique<ScriptedDevice>());
    trial.devices.push_back(devices.back().get());
  }
  const std::vector<RankResult> results = run_trial(trial);
  return {results.front().statistics, devices.front()->progress};
}

}  // namespace

TEST_CASE("by the device's clock: steps and what they wait for, of the training alone") {
  Trial trial;
  trial.model = "chain";
  trial.ranks = 2;
  trial.steps = 3;
  trial.collectives = true;
  const auto steps = static_cast<double>(trial.steps);
  for (const std::string strategy : {"ddp", "zero1", "zero2"}) {
    for (const double clip : {0.0, 1.0}) {
      CAPTURE(strategy);
      CAPTURE(clip);
      trial.strategy = strategy;
      trial.clip = clip;
      const StrategyStatistics found = measure(trial).statistics;
      REQUIRE(found.units > 1);
      // A sum for each unit; the sharded ones gather each unit's parameters, too. The gradients and the state that the trial
      // gathers, and ddp's first sums, which order its buckets, do not belong to training.
      const double spans = steps * found.units * (strategy == "ddp" ? 1 : 2);
      // The pass and the update; the sharded ones wait for the sum of the norm.
      CHECK(found.step_s == 2 * steps * kLapS);
      const double norms_s = strategy != "ddp" && clip > 0 ? steps * kLapS : 0;
      CHECK(found.traffic.exposed_s == spans * kSpanTimes.exposed_s + norms_s);
      CHECK(found.traffic.hidden_s == spans * (kSpanTimes.total_s - kSpanTimes.exposed_s));
    }
  }
}

TEST_CASE("by the device's clock: fsdp's gathers, and ddp's broadcasts of buffers") {
  Trial trial;
  trial.ranks = 2;
  trial.steps = 2;
  trial.collectives = true;
  trial.strategy = "fsdp";
  trial.model = "chain";
  const StrategyStatistics fsdp = measure(trial).statistics;
  // Each unit is gathered in both passes, except the last one, which stays; and summed.
  CHECK(fsdp.traffic.exposed_s == trial.steps * (3 * fsdp.units - 1) * kSpanTimes.exposed_s);
  CHECK(fsdp.step_s == 2 * trial.steps * kLapS);
  trial.strategy = "ddp";
  trial.model = "mnist_rnn_batch_norm";
  const StrategyStatistics ddp = measure(trial).statistics;
  CHECK(ddp.traffic.exposed_s == trial.steps * (ddp.units * kSpanTimes.exposed_s + kLapS));
}

}  // namespace hpcbench::train
