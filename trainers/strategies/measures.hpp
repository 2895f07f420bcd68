#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/world.hpp"
#include "strategies/device_clock.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Measures around the passes of a step: their time, and the memory that they hold besides entries of the ledger. The first one
/// discards measurements from before the training.
class ScopedTimer {
 public:
  ScopedTimer(StrategyStatistics& statistics, DeviceClock& clock);
  ~ScopedTimer();
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  StrategyStatistics& statistics_;
  std::optional<DeviceClock::Stretch> stretch_;
  std::int64_t unnamed_bytes_;  // before
};

/// Measures an update: counts a step and its time.
class UpdateWatch {
 public:
  UpdateWatch(StrategyStatistics& statistics, DeviceClock& clock)
      : statistics_(statistics), stretch_(clock, statistics.step_s) {}
  ~UpdateWatch() { ++statistics_.steps; }
  UpdateWatch(const UpdateWatch&) = delete;
  UpdateWatch& operator=(const UpdateWatch&) = delete;

 private:
  StrategyStatistics& statistics_;
  DeviceClock::Stretch stretch_;
};

/// Returns the bytes of the distinct memory behind tensors.
std::int64_t bytes_behind(const std::vector<at::Tensor>& tensors);

/// Returns the strategy's statistics at the end of a run, with the ranks' computing times. Collective.
StrategyStatistics compare_ranks(Strategy& strategy, const World& world);

}  // namespace hpcbench::train
