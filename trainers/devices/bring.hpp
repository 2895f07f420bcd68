#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace hpcbench::train {

/// Returns a tensor of the host in memory from which a GPU copies without waiting, if `place` is a GPU. The allocator of pinned
/// memory keeps it until the copy has ended.
inline at::Tensor pinned(const at::Tensor& host, at::Device place) {
  if (place.is_cpu() || !host.is_cpu()) return host;
  return at::empty(host.sizes(), host.options().pinned_memory(true)).copy_(host);
}

/// Copies a tensor of the host to the device; to a GPU through pinned memory, without waiting.
inline at::Tensor bring(const at::Tensor& host, at::Device place) {
  return place.is_cpu() ? host : pinned(host, place).to(place, /*non_blocking=*/true);
}

}  // namespace hpcbench::train
