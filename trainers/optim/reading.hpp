#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace hpcbench::train {

/// A number that a step computed. A GPU's stays there until somebody reads it: only then the host waits.
class Reading {
 public:
  Reading(double value) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is one that has been read
  /// Of a scalar; of a CPU's the value.
  explicit Reading(const at::Tensor& scalar);

  bool is_there() const { return there_.defined(); }
  /// The scalar on its device; undefined where the value is known.
  const at::Tensor& there() const { return there_; }
  double read() const;
  /// The number as a scalar in fp64 on a device, where it is, if it is there.
  at::Tensor on(at::Device place) const;

 private:
  double value_ = 0;
  at::Tensor there_;
};

/// All at once: the host waits once.
std::vector<double> read_all(const std::vector<Reading>& readings);

}  // namespace hpcbench::train
