#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "devices/device.hpp"
#include "optim/trainee.hpp"

namespace hpcbench::train {

/// Forward and backward passes that the device does by itself: once some steps of one shape have been computed as ever, the
/// passes of the next one are captured, and from then on replayed for all steps of this shape. Steps of another shape, as an
/// epoch's short last one, are computed as ever. Losses and gradients have the same bits.
class StepGraph {
 public:
  StepGraph(Trainee& trainee, const Device& device) : trainee_(trainee), device_(device) {}

  /// The loss, a scalar of the caller's own; the gradients of the model's parameters, which had none, are there.
  /// std::runtime_error where the trainee cannot part its loss.
  at::Tensor forward_backward(const at::Tensor& samples, const StepPlace& place);
  /// How many steps were replayed.
  std::int64_t replays() const { return replays_; }

 private:
  /// Before a shape is captured: libraries choose kernels and take memory when they first see it.
  static constexpr int kStepsBefore = 2;

  at::Tensor compute(const LossInputs& inputs) const;
  void capture(const LossInputs& inputs);
  at::Tensor replay(const LossInputs& inputs);

  Trainee& trainee_;
  const Device& device_;
  std::vector<std::int64_t> shape_;         // of the steps that were seen, or captured
  int seen_ = 0;                            // steps of this shape, one after the other
  at::Tensor there_;                        // what replays read
  std::unique_ptr<CapturedWork> captured_;  // its results: the loss, then the gradients
  std::int64_t replays_ = 0;
};

}  // namespace hpcbench::train
