#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "devices/device.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

/// Measures how long the strategy's work takes: by the host's clock, or on a GPU, to which the host only hands work, by the
/// GPU's. Never by both: a wait that the GPU measured is taken from a step that the GPU measured. What a GPU has measured is
/// known later: settle() adds what it has come to by then. Sums must stay where they are.
class DeviceClock {
 public:
  explicit DeviceClock(const Device& device) : device_(device) {}
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Adds the seconds of its life to `sum`.
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

  /// The times of a piece of work in a side stream, whose hold_computing() was called, become `traffic`.
  void add(std::shared_ptr<Span> span, Traffic& traffic);
  /// Adds up what the device has measured so far.
  void settle();
  /// All of it: waits for the device.
  void settle_all();
  /// What is not settled is never added.
  void forget() { open_.clear(); }
  /// Calls `work`; what it sends and waits for is none of the training's.
  void uncounted(Traffic& traffic, const std::function<void()>& work);

 private:
  const Device& device_;
  std::vector<std::function<bool()>> open_;  // each adds its times and returns true, or false: not known yet
};

}  // namespace hpcbench::train
