#pragma once

// LibTorch's headers and doctest both define CHECK: tests need doctest's. Every test of this folder includes this first.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT

#include <doctest/doctest.h>

namespace hpcbench::train {

/// Returns ||a - b|| / ||b||, or ||a - b|| if b is 0.
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const double norm = b.norm().item<double>();
  const double difference = (a - b).norm().item<double>();
  return norm == 0 ? difference : difference / norm;
}

}  // namespace hpcbench::train
