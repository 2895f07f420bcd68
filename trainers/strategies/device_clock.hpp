#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "devices/device.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

/// Measures the time of the strategy's work: by the host's clock, or on a GPU, where the host only enqueues work, by the GPU's.
/// Never by both: a wait that the GPU measured is subtracted from a step that the GPU measured. A GPU's measurements are known
/// later: settle() adds those that are available. Sums must not be moved.
class DeviceClock {
 public:
  explicit DeviceClock(const Device& device) : device_(device) {}
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Adds the seconds of its lifetime to `sum`.
  class Stretch {
   public:
    Stretch(DeviceClock& clock, double& sum);
    ~Stretch();
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

   private:
    DeviceClock& clock_;
    double& sum_;
    double begun_s_;
    std::shared_ptr<Lap> lap_;  // null: by the host's clock
  };

  /// Records the times of work in a side stream, whose hold_computing() was called, in `traffic`.
  void add(std::shared_ptr<Span> span, Traffic& traffic);
  /// Adds up all measurements available so far.
  void settle();
  /// Adds up all measurements: waits for the device.
  void settle_all();
  /// Discards measurements that are not settled.
  void forget() { open_.clear(); }
  /// Calls `work` without counting its bytes and waits in the training.
  void uncounted(Traffic& traffic, const std::function<void()>& work);

 private:
  const Device& device_;
  std::vector<std::function<bool()>> open_;  // each adds its times and returns true, or returns false if they are not known yet
};

}  // namespace hpcbench::train
