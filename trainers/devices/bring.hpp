#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace hpcbench::train {

/// A tensor of the host on the device; to a GPU through pinned memory, without waiting.
inline at::Tensor bring(const at::Tensor& host, at::Device place) {
  if (place.is_cpu()) return host;
  const at::Tensor pinned = at::empty(host.sizes(), host.options().pinned_memory(true)).copy_(host);
  // The allocator of pinned memory keeps it until the copy has ended.
  return pinned.to(place, /*non_blocking=*/true);
}

}  // namespace hpcbench::train
