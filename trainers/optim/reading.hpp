#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace hpcbench::train {

/// A number that a step computed. A GPU's number stays on the GPU until it is read: only then the host waits.
class Reading {
 public:
  Reading(double value) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is one that has been read
  /// Holds a scalar; a CPU's as its value.
  explicit Reading(const at::Tensor& scalar);

  bool is_there() const { return there_.defined(); }
  /// Returns the scalar on its device; undefined if the value is known.
  const at::Tensor& there() const { return there_; }
  double read() const;
  /// Returns the number as a scalar in fp64 on a device, moved only if it is elsewhere.
  at::Tensor on(at::Device place) const;

 private:
  double value_ = 0;
  at::Tensor there_;
};

/// Reads all at once: the host waits once.
std::vector<double> read_all(const std::vector<Reading>& readings);

}  // namespace hpcbench::train
