#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/world.hpp"
#include "strategies/device_clock.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Around the passes of a step: how long they take and what they hold beside what has a name in the ledger. The first one
/// forgets what was measured before the training.
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

/// Around an update: counts a step, and how long it takes.
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

/// The bytes of the distinct memory behind tensors.
std::int64_t bytes_behind(const std::vector<at::Tensor>& tensors);

/// The strategy's statistics at the end of a run, with what the ranks computed. Collective.
StrategyStatistics compare_ranks(Strategy& strategy, const World& world);

}  // namespace hpcbench::train
