#pragma once

#include "base/world.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Around the passes of a step: how long they take and what they hold beside what has a name in the ledger. The first one
/// forgets what was measured before the training.
class ScopedTimer {
 public:
  explicit ScopedTimer(StrategyStatistics& statistics);
  ~ScopedTimer();
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  StrategyStatistics& statistics_;
  double begun_s_;
  std::int64_t unnamed_bytes_;  // before
};

/// Around an update: counts a step, and how long it takes.
class UpdateWatch {
 public:
  explicit UpdateWatch(StrategyStatistics& statistics);
  ~UpdateWatch();
  UpdateWatch(const UpdateWatch&) = delete;
  UpdateWatch& operator=(const UpdateWatch&) = delete;

 private:
  StrategyStatistics& statistics_;
  double begun_s_;
};

/// Adds the seconds of its life to what was waited for.
class ExposedWatch {
 public:
  explicit ExposedWatch(Traffic& traffic);
  ~ExposedWatch();
  ExposedWatch(const ExposedWatch&) = delete;
  ExposedWatch& operator=(const ExposedWatch&) = delete;

 private:
  Traffic& traffic_;
  double begun_s_;
};

/// The bytes of the distinct memory behind tensors.
std::int64_t bytes_behind(const std::vector<at::Tensor>& tensors);

/// The strategy's statistics at the end of a run, with what the ranks computed. Collective.
StrategyStatistics compare_ranks(Strategy& strategy, const World& world);

}  // namespace hpcbench::train
